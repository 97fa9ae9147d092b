package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/install"
	"github.com/rookery-project/rookery/cmd/rookery/remote"
	"github.com/rookery-project/rookery/cmd/rookery/secure"
)

func clusterUpCommand() *cobra.Command {
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "up FILE",
		Short: "Install a cluster on hosts, by SSH",
		Long: `Install a cluster on the hosts that a YAML file names: the keys, one or three servers, the bus, coordinators and nodes. It logs in to each host as
root by SSH, with the keys of your agent or of ~/.ssh, and only where ~/.ssh/known_hosts has the host's key. It copies this program and the nats-server
beside it, as in the archive of a release, unless a package has installed Rookery there; then it runs rookery install.

It shows a plan first: on a terminal it asks before it carries that out; --yes skips the question. If it is interrupted, or finds a problem, run it
again: it goes on where it stopped. Run it again too for hosts that you have added to the file.

FILE is as in:
  keys: ./keys            # the folder of the cluster's keys; it is made
  hosts:
    - {name: host-1, address: 10.0.0.1, runs: [server, coordinator, node]}
    - {name: host-2, address: 10.0.0.2, ssh: root@host-2:2222, runs: [server, coordinator, node]}
    - {name: host-3, address: 10.0.0.3, runs: [server, node]}`,
		Example: `  rookery cluster up hosts.yaml
  rookery cluster up hosts.yaml --dry-run`,
		Args: arguments("FILE"),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "list what the hosts lack, and change nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		text, err := os.ReadFile(args[0])
		var file hostsFile
		if err == nil {
			file, err = parseHosts(text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		program, err := os.Executable()
		if err != nil {
			return err
		}
		u := &upping{hostsFile: file, out: cmd.OutOrStdout(), program: program}
		defer func() { err = errors.Join(err, u.close()) }()
		if err := u.reach(cmd.Context()); err != nil {
			return err
		}
		steps, err := u.steps()
		if err != nil {
			return err
		}
		if dryRun {
			return carryOut(cmd, steps, true)
		}
		if !yes {
			lacking, err := install.Lacking(cmd.Context(), steps, func(s install.Step) { fmt.Fprintf(u.out, "%-8s %s\n", "not yet", s.Name) })
			if err != nil || lacking == 0 {
				return err
			}
			if err := agree(cmd, output{}, nil); err != nil {
				return err
			}
		}
		return carryOut(cmd, steps, false)
	}
	return cmd
}

// upping is a cluster that is brought up.
type upping struct {
	hostsFile
	out io.Writer
	// program is the path of the program that runs now.
	program string
	// at are the connections, by the names of the hosts.
	at map[string]*remote.Host
}

// reach connects to all hosts, and checks what cannot be installed.
func (u *upping) reach(ctx context.Context) error {
	u.at = map[string]*remote.Host{}
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	var errs []error
	for _, h := range u.Hosts {
		at, err := remote.Dial(ctx, h.SSH)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s at %s: %w", h.Name, h.SSH, err))
			continue
		}
		u.at[h.Name] = at
		told, code, err := u.told(ctx, h, "id -u && uname -m", nil)
		switch facts := strings.Fields(told); {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s at %s: %w", h.Name, h.SSH, err))
		case code != 0 || len(facts) < 2:
			errs = append(errs, fmt.Errorf("%s at %s does not say who logs in: exit code %d: %s", h.Name, h.SSH, code, told))
		case facts[0] != "0":
			errs = append(errs, fmt.Errorf("%s at %s: this user is not root: only root can install", h.Name, h.SSH))
		case facts[1] != machines[runtime.GOARCH]:
			errs = append(errs, fmt.Errorf("%s at %s is a machine of %s, and this program is for %s: use a release for that machine, or install its package there",
				h.Name, h.SSH, facts[1], machines[runtime.GOARCH]))
		}
	}
	return errors.Join(errs...)
}

func (u *upping) close() error {
	var errs []error
	for _, at := range u.at {
		errs = append(errs, at.Close())
	}
	return errors.Join(errs...)
}

// told runs a line on a host, and returns what it prints.
func (u *upping) told(ctx context.Context, h clusterHost, line string, in io.Reader) (string, int, error) {
	var out bytes.Buffer
	code, err := u.at[h.Name].Run(ctx, line, in, &out)
	return strings.TrimSpace(out.String()), code, err
}

// does runs a line on a host, which must succeed, and shows what it prints behind the name of the host.
func (u *upping) does(ctx context.Context, h clusterHost, line string, in io.Reader) error {
	told, code, err := u.told(ctx, h, line, in)
	for line := range strings.Lines(told) {
		fmt.Fprintf(u.out, "  %s: %s\n", h.Name, strings.TrimSpace(line))
	}
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d on %s: %s", code, h.Name, told[strings.LastIndexByte(told, '\n')+1:])
	}
	return err
}

// here runs a command of this program on this machine, and returns what it prints to its standard output.
func (u *upping) here(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, u.program, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("rookery %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

// steps are those after which the cluster is up.
func (u *upping) steps() ([]install.Step, error) {
	steps := []install.Step{u.keysStep()}
	for _, h := range u.Hosts {
		copies, err := u.copies(h)
		if err != nil {
			return nil, err
		}
		steps = append(steps, copies)
	}
	for _, h := range u.that(install.ServerPart) {
		steps = append(steps, u.installs(h, install.ServerPart, func() (map[string][]byte, error) {
			return folderFiles(filepath.Join(u.Keys, "servers", h.Name), ".")
		}))
	}
	steps = append(steps, u.busStep())
	for _, h := range u.that(install.CoordinatorPart) {
		steps = append(steps, u.installs(h, install.CoordinatorPart, u.ofCoordinator))
	}
	for _, h := range u.that(install.NodePart) {
		steps = append(steps, u.nodeStep(h))
	}
	return steps, nil
}

// keysStep is the step after which there are keys, with those of each server.
func (u *upping) keysStep() install.Step {
	args := []string{"secure", "init", "--dir", u.Keys}
	for _, h := range u.that(install.ServerPart) {
		args = append(args, h.Name+"="+h.Address)
	}
	return install.Step{
		Name: "the keys of the cluster in " + u.Keys,
		Has: func(context.Context) (bool, error) {
			entries, err := os.ReadDir(u.Keys)
			if errors.Is(err, os.ErrNotExist) || (err == nil && len(entries) == 0) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			for _, h := range u.that(install.ServerPart) {
				if _, err := os.Stat(filepath.Join(u.Keys, "servers", h.Name)); err != nil {
					return false, fmt.Errorf("they are of other servers: %w: servers cannot be added to a cluster", err)
				}
			}
			return true, nil
		},
		Make: func(ctx context.Context) error {
			_, err := u.here(ctx, args...)
			return err
		},
	}
}

// copies is the step after which a host has this program, and the nats-server beside it if it needs that, unless a package has installed them.
func (u *upping) copies(h clusterHost) (install.Step, error) {
	own := install.Host{Program: u.program}
	from := map[string]string{install.Own: u.program}
	if h.runs(install.ServerPart) {
		server, err := own.Beside()
		if err != nil {
			return install.Step{}, err
		}
		from[install.OwnServer] = server
	}
	sums := ""
	for _, at := range slices.Sorted(maps.Keys(from)) {
		content, err := os.ReadFile(from[at])
		if err != nil {
			return install.Step{}, err
		}
		sum := sha256.Sum256(content)
		sums += hex.EncodeToString(sum[:]) + "  " + at + "\n"
	}
	return install.Step{
		Name: h.Name + " has this program",
		Has: func(ctx context.Context) (bool, error) {
			_, code, err := u.told(ctx, h, "test -x "+install.Packaged+" || sha256sum --check --status", strings.NewReader(sums))
			return code == 0, err
		},
		Make: func(ctx context.Context) error {
			for _, at := range slices.Sorted(maps.Keys(from)) {
				if err := u.sends(ctx, h, from[at], at); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// sends copies a program to a host.
func (u *upping) sends(ctx context.Context, h clusterHost, from, to string) error {
	program, err := os.Open(from)
	if err != nil {
		return err
	}
	line := fmt.Sprintf("mkdir -p %[1]s && cat > %[2]s.new && chmod 755 %[2]s.new && mv %[2]s.new %[2]s", filepath.Dir(to), to)
	return errors.Join(u.does(ctx, h, line, program), program.Close())
}

// onHost begins lines of a shell of a host: they find the program of a package or the copy, and have a folder with the files of the input, which goes with
// them.
const onHost = `set -e; PATH=` + "$PATH:/usr/local/bin" + `; umask 077; folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; tar -x -C "$folder"; `

// installs is the step after which a host runs a part, which needs these files.
func (u *upping) installs(h clusterHost, part string, needs func() (map[string][]byte, error)) install.Step {
	line := onHost + "rookery install " + part + ` "$folder"`
	return install.Step{
		Name: fmt.Sprintf("%s runs a %s", h.Name, part),
		Has: func(ctx context.Context) (bool, error) {
			files, err := needs()
			if errors.Is(err, os.ErrNotExist) {
				return false, nil // the keys are made first
			}
			if err != nil {
				return false, err
			}
			if _, code, err := u.told(ctx, h, "PATH=$PATH:/usr/local/bin; command -v rookery", nil); err != nil || code != 0 {
				return false, err // the program comes first
			}
			told, code, err := u.told(ctx, h, line+" --dry-run", packed(files))
			if err != nil || code == 0 || code == exitPending {
				return code == 0 && err == nil, err
			}
			return false, fmt.Errorf("exit code %d: %s", code, told)
		},
		Make: func(ctx context.Context) error {
			files, err := needs()
			if err != nil {
				return err
			}
			return u.does(ctx, h, line, packed(files))
		},
	}
}

// ofCoordinator are the files of the keys that a coordinator needs.
func (u *upping) ofCoordinator() (map[string][]byte, error) {
	files, err := folderFiles(u.Keys, secure.Admission)
	for _, name := range []string{secure.CA, secure.CredsFile(secure.Coordinator), secure.ContextFile(secure.Coordinator)} {
		if err == nil {
			files[name], err = os.ReadFile(filepath.Join(u.Keys, name))
		}
	}
	return files, err
}

// packed is a tar archive of files, for their owner only.
func packed(files map[string][]byte) io.Reader {
	const ours = 0o600
	var to bytes.Buffer
	w := tar.NewWriter(&to)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		// A buffer takes all that is written.
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: ours, Size: int64(len(files[name]))})
		_, _ = w.Write(files[name])
	}
	_ = w.Close()
	return &to
}

// operator is the NATS context with which this machine asks the cluster.
func (u *upping) operator() string { return filepath.Join(u.Keys, secure.ContextFile(secure.Operator)) }

// busStep is the step after which the bus has its streams.
func (u *upping) busStep() install.Step {
	return install.Step{
		Name: "the bus has its streams",
		Has: func(ctx context.Context) (bool, error) {
			_, err := u.here(ctx, "bus", "check", "--context", u.operator())
			return err == nil, nil // else init says why
		},
		Make: func(ctx context.Context) error {
			_, err := u.here(ctx, "bus", "init", "--replicas", fmt.Sprint(len(u.that(install.ServerPart))), "--context", u.operator())
			return err
		},
	}
}

// nodeStep is the step after which a host runs a node that has joined. A token is made for each node that has not.
func (u *upping) nodeStep(h clusterHost) install.Step {
	return install.Step{
		Name: h.Name + " runs a node",
		Has: func(ctx context.Context) (bool, error) {
			_, code, err := u.told(ctx, h, "systemctl is-active --quiet "+install.Unit(install.NodePart), nil)
			if err != nil || code != 0 {
				return false, err
			}
			told, err := u.here(ctx, "nodes", h.Name, "--context", u.operator())
			return err == nil && strings.Contains(told, " ready "), nil // else the installation says why
		},
		Make: func(ctx context.Context) error {
			token, err := u.here(ctx, "token", "create", "--dir", u.Keys, "--context", u.operator())
			if err != nil {
				return err
			}
			line := fmt.Sprintf("PATH=$PATH:/usr/local/bin; rookery install node - --name %s --address %s", h.Name, h.Address)
			return u.does(ctx, h, line, strings.NewReader(token))
		},
	}
}
