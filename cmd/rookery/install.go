package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/install"
	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
)

// installing makes this host run a part of a cluster.
type installing struct {
	link   *link
	dryRun bool
	noUnit bool
}

func installCommand(l *link) *cobra.Command {
	i := &installing{link: l}
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Make this host run a server, a coordinator or a node",
		Long: `Give this host what it needs to run a NATS server, a coordinator or a node under systemd: the user rookery, folders, files, a configuration
file in /etc/rookery and a unit, which is started, also with each start of the host. Run it as root. Each line says what is so now, or was already. If it
is interrupted, or finds a problem, run it again: it goes on where it stopped.

A package of Rookery has the program and the units. Without one, the host gets copies of them in /usr/local and /etc/systemd/system.`,
		Example: `  rookery install server ./servers/nats-1
  rookery install coordinator ./keys
  rookery token create | rookery install node - --name edge-1 --address 10.0.0.7`,
	}
	cmd.PersistentFlags().BoolVar(&i.dryRun, "dry-run", false, "list what this host lacks, and change nothing")
	cmd.PersistentFlags().BoolVar(&i.noUnit, "no-unit", false, "install all but the unit, and start nothing")
	cmd.AddCommand(i.serverCommand(), i.coordinatorCommand(), i.nodeCommand())
	return cmd
}

func (i *installing) serverCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "server FOLDER",
		Short: "Run a NATS server on this host",
		Long: `Run a NATS server on this host. FOLDER is a copy of the folder servers/NAME that rookery secure init has made for it. The server keeps what it
stores in /var/lib/rookery/server. With no unit, start it there: nats-server --config nats.conf.`,
		Example: `  rookery install server ./servers/nats-1
  rookery install server ./servers/nats-1 --dry-run`,
		Args: arguments("FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			host, err := i.host()
			if err != nil {
				return err
			}
			files, err := folderFiles(args[0], ".")
			if err == nil && files["nats.conf"] == nil {
				err = errors.New("it has no nats.conf: name a copy of the folder servers/NAME of rookery secure init")
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", args[0], err)
			}
			steps, err := host.Server(files)
			if err != nil {
				return err
			}
			return i.run(cmd, host, install.ServerPart, steps)
		},
	}
}

func (i *installing) coordinatorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "coordinator [FOLDER]",
		Short: "Run a coordinator on this host",
		Long: `Run a coordinator on this host. FOLDER is the folder of rookery secure init, or a copy of what a coordinator needs of it: ca.crt, admission, and
coordinator.creds and coordinator.json in users. Without FOLDER, where the bus has no accounts, --server says where it is. A host that has a coordinator
needs neither.`,
		Example: `  rookery install coordinator ./keys
  rookery install coordinator --server nats://10.0.0.1:4222`,
		Args: usageOf(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			host, err := i.host()
			if err != nil {
				return err
			}
			wanted, err := i.bus(cmd, install.CoordinatorPart, len(args) > 0, "the folder of rookery secure init")
			if err != nil {
				return err
			}
			var files map[string][]byte
			if len(args) > 0 {
				if wanted, files, err = coordinatorFiles(args[0]); err != nil {
					return fmt.Errorf("read %s: %w", args[0], err)
				}
			}
			steps, err := host.Coordinator(wanted, files)
			if err != nil {
				return err
			}
			return i.run(cmd, host, install.CoordinatorPart, steps)
		},
	}
}

func (i *installing) nodeCommand() *cobra.Command {
	var name, address string
	cmd := &cobra.Command{
		Use:   "node [TOKEN]",
		Short: "Run a node on this host",
		Long: `Run a node on this host, which joins with a token of rookery token create. TOKEN is - to read the token from standard input. Without TOKEN, where the
bus has no accounts, --server says where it is. A host that has a node needs neither. The node uses the Podman of root.`,
		Example: `  rookery install node - --name edge-1 --address 10.0.0.7 < token
  rookery install node --server nats://10.0.0.1:4222 --address 10.0.0.7`,
		Args: usageOf(cobra.MaximumNArgs(1)),
	}
	nodeNameFlag(cmd, &name)
	cmd.Flags().StringVar(&address, "address", "", "address at which clients reach the ports of its instances")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		host, err := i.host()
		if err != nil {
			return err
		}
		if before, err := install.Named(install.NodePart, "name"); err != nil {
			return err
		} else if !cmd.Flags().Changed("name") {
			name = cmp.Or(before, name)
		}
		if !events.ValidName(name) {
			return usage(cmd, badNodeName(name))
		}
		wanted, err := i.bus(cmd, install.NodePart, len(args) > 0, "a token of rookery token create")
		if err != nil {
			return err
		}
		wanted = append(wanted, install.Setting{Flag: "name", Value: name})
		if address != "" {
			wanted = append(wanted, install.Setting{Flag: "address", Value: address})
		}
		var joined []install.Step
		if len(args) > 0 {
			token, err := readToken(cmd, args[0])
			if err != nil {
				return err
			}
			j := &joining{name: name, folder: nodesFolder}
			joined = j.steps(cmd.ErrOrStderr(), token)
			wanted = append(wanted, install.Setting{Flag: "context", Value: filepath.Join(nodesFolder, name+".json")})
		}
		steps, err := host.Node(wanted, engineSteps(), joined)
		if err != nil {
			return err
		}
		return i.run(cmd, host, install.NodePart, steps)
	}
	return cmd
}

// bus are the settings that say where the bus is, if nothing else says so that is given, and the part's configuration file does not either. Other is what
// would.
func (i *installing) bus(cmd *cobra.Command, part string, given bool, other string) ([]install.Setting, error) {
	known := false
	for _, way := range ofLink {
		value, err := install.Named(part, way)
		if err != nil {
			return nil, err
		}
		known = known || value != ""
	}
	named := func(flag string) bool { return cmd.Flags().Changed(flag) }
	switch {
	case named("creds"), named("context"), given && named("server"):
		return nil, usage(cmd, fmt.Errorf("%s says where the bus is, and as who to connect; --server is for a bus without accounts", other))
	case given:
		return nil, nil
	case i.link.server == "" && known:
		return nil, nil
	case i.link.server == "":
		return nil, usage(cmd, fmt.Errorf("say where the bus is, by %s or by --server", other))
	}
	return []install.Setting{{Flag: "server", Value: i.link.server}}, nil
}

// host returns this host, unless nothing can be installed on it.
func (i *installing) host() (install.Host, error) { return thisHost(!i.noUnit) }

// run gives this host what the steps of a part say, and says how to go on.
func (i *installing) run(cmd *cobra.Command, host install.Host, part string, steps []install.Step) error {
	err := onThisHost(cmd, steps, i.dryRun)
	if err != nil || i.dryRun {
		return err
	}
	if err := install.ClockIsSet(); err != nil {
		complain(cmd.ErrOrStderr(), err.Error())
	}
	if i.noUnit {
		command, user := host.Start(part)
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "The %s is installed. Start it as the user %s: %s\n", part, user, command)
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "The %s runs. Its log: journalctl --unit %s\n", part, install.Unit(part))
	return err
}

// thisHost returns the host with the program that runs now.
func thisHost(units bool) (install.Host, error) {
	path, err := os.Executable()
	if err == nil {
		err = os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin") // the shell of su on Debian leaves these out
	}
	if err != nil {
		return install.Host{}, err
	}
	h := install.Host{Program: path, Units: units}
	return h, h.Check()
}

// onThisHost carries out steps while no other command changes this host: one whose connection broke may still run.
func onThisHost(cmd *cobra.Command, steps []install.Step, dryRun bool) error {
	if dryRun {
		return carryOut(cmd, steps, true)
	}
	const lock = "/run/rookery-install.lock"
	late := time.After(lockFor)
	for {
		err := holding(lock, os.O_CREATE|os.O_RDWR, func() error { return carryOut(cmd, steps, false) })
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		select {
		case <-time.After(lockAgain):
		case <-late:
			return err
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		}
	}
}

// lockFor is how long a command waits for another one to end that changes this host, and lockAgain how often it looks.
const lockFor, lockAgain = 2 * time.Minute, time.Second

// carryOut runs the steps and says what the host has, or lists those that the host lacks.
func carryOut(cmd *cobra.Command, steps []install.Step, dryRun bool) error {
	out := cmd.OutOrStdout()
	if !dryRun {
		return install.Run(cmd.Context(), steps, func(s install.Step, made bool) {
			fmt.Fprintf(out, "%-8s %s\n", map[bool]string{true: "now", false: "already"}[made], s.Name)
		})
	}
	lacking, err := install.Lacking(cmd.Context(), steps, func(s install.Step) { fmt.Fprintf(out, "%-8s %s\n", "not yet", s.Name) })
	if err == nil && lacking > 0 {
		return errPending
	}
	return err
}

func uninstallCommand(l *link) *cobra.Command {
	var dryRun, drains bool
	cmd := &cobra.Command{
		Use:   "uninstall PART...",
		Short: "Stop what this host runs of a cluster, and remove it",
		Long: `Stop a server, a coordinator or a node of this host, and remove its unit. Run it as root. Containers keep running; with --drain the node's instances
move to other nodes first, without a question, as the operator of --context. The folders /var/lib/rookery and /etc/rookery stay, and so does what a
package has installed. Without a package, the copies of the programs go with the last unit.`,
		Example: `  rookery uninstall coordinator
  rookery uninstall node --drain --context ./operator.json
  rookery uninstall server coordinator node --dry-run`,
		Args:      usageOf(cobra.MatchAll(cobra.MinimumNArgs(1), cobra.OnlyValidArgs)),
		ValidArgs: install.Parts,
	}
	cmd.Flags().BoolVar(&drains, "drain", false, "move the node's instances to other nodes first")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "list what would change, and change nothing")
	cmd.RunE = func(cmd *cobra.Command, parts []string) error {
		host, err := thisHost(true)
		if err != nil {
			return err
		}
		if !drains {
			return onThisHost(cmd, host.Remove(parts), dryRun)
		}
		if !slices.Contains(parts, install.NodePart) {
			return usage(cmd, errors.New("--drain is for a node"))
		}
		name, err := install.Named(install.NodePart, "name")
		if err != nil {
			return err
		}
		name = cmp.Or(name, hostName())
		drained := install.Step{
			Name: "the node " + name + " is drained",
			Has:  func(context.Context) (bool, error) { return false, nil }, // to drain it once more changes nothing
			Make: func(ctx context.Context) error { return drainNow(ctx, l, name) },
		}
		return onThisHost(cmd, host.Remove(parts, drained), dryRun)
	}
	return cmd
}

// drainNow drains a node without a question.
func drainNow(ctx context.Context, l *link, name string) error {
	l.needs = true
	cmd := drainCommand(l)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs([]string{name, "--yes"})
	return cmd.ExecuteContext(ctx)
}

// maxInstalled bounds the files that are installed: how many, and each in bytes.
const maxInstalled, maxInstalledBytes = 100, 1 << 20

// folderFiles reads the files of a folder below another one, by their names below that. It leaves out folders.
func folderFiles(top, below string) (map[string][]byte, error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	err = fs.WalkDir(root.FS(), below, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == below {
			return err
		}
		if entry.IsDir() {
			return fs.SkipDir
		}
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", name)
		case info.Size() > maxInstalledBytes || len(files) == maxInstalled:
			return fmt.Errorf("%s: want at most %d files of %d bytes each", name, maxInstalled, maxInstalledBytes)
		}
		files[name], err = root.ReadFile(name)
		return err
	})
	return files, errors.Join(err, root.Close())
}

// coordinatorFiles returns the settings of a coordinator, and the files that it needs of a folder of rookery secure init, by their names below
// install.Settings.
func coordinatorFiles(from string) ([]install.Setting, map[string][]byte, error) {
	needed, err := coordinatorNeeds(from)
	if err != nil {
		return nil, nil, err
	}
	files := map[string][]byte{}
	for name, content := range needed {
		files[strings.TrimPrefix(name, path.Dir(secure.CredsFile(secure.Coordinator))+"/")] = content
	}
	context := path.Base(secure.ContextFile(secure.Coordinator))
	if files[context], err = movedContext(files[context], install.Settings); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", context, err)
	}
	return []install.Setting{
		{Flag: "context", Value: filepath.Join(install.Settings, context)},
		{Flag: "admission", Value: filepath.Join(install.Settings, secure.Admission)},
	}, files, nil
}

// coordinatorNeeds returns the files that a coordinator needs of a folder of rookery secure init, by their names there.
func coordinatorNeeds(from string) (map[string][]byte, error) {
	files, err := folderFiles(from, secure.Admission)
	for _, name := range []string{secure.CA, secure.CredsFile(secure.Coordinator), secure.ContextFile(secure.Coordinator)} {
		if err == nil {
			files[name], err = os.ReadFile(filepath.Join(from, name))
		}
	}
	return files, err
}

// movedContext returns a NATS context whose files are in a folder.
func movedContext(text []byte, folder string) ([]byte, error) {
	var context map[string]any
	if err := json.Unmarshal(text, &context); err != nil {
		return nil, err
	}
	for _, field := range []string{"creds", "ca"} {
		name, ok := context[field].(string)
		if !ok || name == "" {
			return nil, fmt.Errorf("it has no %q: want the context that rookery secure init has made", field)
		}
		context[field] = filepath.Join(folder, filepath.Base(name))
	}
	return json.Marshal(context, json.Deterministic(true))
}

// engineSteps are the steps of a host whose Podman can run containers.
func engineSteps() []install.Step {
	works := func(ctx context.Context) error {
		var wrong []string
		for _, c := range checkHost(ctx, defaultPodman) {
			if !c.OK {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %s", c.Name, c.Found, c.Advice))
			}
		}
		if len(wrong) > 0 {
			return errors.New(strings.Join(wrong, "; "))
		}
		return nil
	}
	return []install.Step{{
		Name: "Podman with a runtime, cgroups and room",
		Has: func(ctx context.Context) (bool, error) {
			if _, err := os.Stat(strings.TrimPrefix(defaultPodman, "unix://")); err != nil {
				return false, nil // its socket comes with a step before this one
			}
			err := works(ctx)
			return err == nil, err
		},
		Make: works,
	}}
}

// nodesFolder has the keys and credentials of the nodes of this host. It belongs to root.
const nodesFolder = install.Settings + "/nodes"

// steps are those after which the node has joined: the last file that is written then is its NATS context.
func (j *joining) steps(notes io.Writer, token secure.Token) []install.Step {
	at := filepath.Join(j.folder, j.name+".json")
	return []install.Step{{
		Name: at,
		Has: func(context.Context) (bool, error) {
			wanted, err := token.Context(j.name, j.folder)
			if err != nil {
				return false, err
			}
			has, err := os.ReadFile(at)
			if errors.Is(err, fs.ErrNotExist) {
				return false, nil
			}
			return bytes.Equal(has, wanted), err
		},
		Make: func(ctx context.Context) error { return j.run(ctx, io.Discard, notes, token) },
	}}
}
