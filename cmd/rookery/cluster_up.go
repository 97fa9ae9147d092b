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
	"time"

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

It shows a plan first, and asks before it carries that out; --yes skips the question. If it is interrupted, or finds a problem, run it again: it goes on
where it stopped. Run it again too for hosts that you have added to the file, or with another release, which it copies to the hosts: servers are started
again one after the other.

FILE is as in:
  keys: ./keys            # the folder of the cluster's keys, beside FILE; it is made
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
		for _, way := range ofLink {
			if cmd.Flags().Changed(way) {
				return usage(cmd, fmt.Errorf("--%s is not for cluster up: the bus is on the hosts of the file", way))
			}
		}
		if !filepath.IsAbs(file.Keys) {
			file.Keys = filepath.Join(filepath.Dir(args[0]), file.Keys)
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
		err = carryOut(cmd, steps, true) // which shows the plan
		if dryRun || !errors.Is(err, errPending) {
			return err
		}
		if !yes {
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
	// at are the connections, and packaged says where a package has installed Rookery, by the names of the hosts.
	at       map[string]*remote.Host
	packaged map[string]bool
}

// reach connects to all hosts, and checks what cannot be installed.
func (u *upping) reach(ctx context.Context) error {
	u.at, u.packaged = map[string]*remote.Host{}, map[string]bool{}
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	var errs []error
	for _, h := range u.Hosts {
		at, err := remote.Dial(ctx, h.SSH)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s at %s: %w", h.Name, h.SSH, err))
			continue
		}
		u.at[h.Name] = at
		told, code, err := u.told(ctx, h, "id -u && uname -m && { test -x "+install.Packaged+" && echo packaged || true; }", nil)
		switch facts := strings.Fields(told); {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s at %s: %w", h.Name, h.SSH, err))
		case code != 0 || len(facts) < 2:
			errs = append(errs, fmt.Errorf("%s at %s does not say who logs in: exit code %d: %s", h.Name, h.SSH, code, told))
		case facts[0] != "0":
			errs = append(errs, fmt.Errorf("%s at %s: this user is not root: only root can install", h.Name, h.SSH))
		case len(facts) > 2: // its package is for its machine
			u.packaged[h.Name] = true
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
	ctx, cancel := context.WithTimeout(ctx, tellsWithin)
	defer cancel()
	var out bytes.Buffer
	code, err := u.at[h.Name].Run(ctx, line, in, &out)
	return strings.TrimSpace(out.String()), code, err
}

const (
	// tellsWithin is how long a host may take to say what it has, and installsWithin how long to install something.
	tellsWithin, installsWithin = time.Minute, 10 * time.Minute
)

// does runs a line on a host, which must succeed, and shows each line that it prints behind the name of the host.
func (u *upping) does(ctx context.Context, h clusterHost, line string, in io.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, installsWithin)
	defer cancel()
	out := &prefixed{to: u.out, begin: "  " + h.Name + ": "}
	code, err := u.at[h.Name].Run(ctx, line, in, out)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d on %s: %s%s", code, h.Name, out.last, out.rest)
	}
	return err
}

// prefixed writes whole lines, each behind the same text.
type prefixed struct {
	to    io.Writer
	begin string
	// rest is the line that has not ended yet, and last the line before it.
	rest, last string
}

// Write implements io.Writer.
func (l *prefixed) Write(p []byte) (int, error) {
	l.rest += string(p)
	for {
		line, rest, ended := strings.Cut(l.rest, "\n")
		if !ended {
			return len(p), nil
		}
		l.last, l.rest = line, rest
		if _, err := fmt.Fprintln(l.to, l.begin+line); err != nil {
			return 0, err
		}
	}
}

// here runs a command of this program on this machine, and returns what it prints to its standard output.
func (u *upping) here(ctx context.Context, args ...string) (string, error) {
	call, cancel := context.WithTimeout(ctx, tellsWithin)
	defer cancel()
	cmd := exec.CommandContext(call, u.program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it removes what it has begun
	cmd.WaitDelay = tellsWithin
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "NATS_") }) // these name another bus
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("rookery %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out.String(), nil
}

// steps are those after which the cluster is up.
func (u *upping) steps() ([]install.Step, error) {
	steps, copied := []install.Step{u.keysStep()}, map[string]install.Step{}
	for _, h := range u.Hosts {
		copies, err := u.copies(h)
		if err != nil {
			return nil, err
		}
		copied[h.Name] = copies
		steps = append(steps, copies)
	}
	for _, h := range u.that(install.ServerPart) {
		steps = append(steps, u.serverStep(h, copied[h.Name]))
	}
	steps = append(steps, u.busStep())
	for _, h := range u.that(install.CoordinatorPart) {
		steps = append(steps, u.installs(h, install.CoordinatorPart, copied[h.Name], u.ofCoordinator))
	}
	for _, h := range u.that(install.NodePart) {
		steps = append(steps, u.nodeStep(h, copied[h.Name]))
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
			return true, u.areKeys()
		},
		Make: func(ctx context.Context) error {
			_, err := u.here(ctx, args...)
			return err
		},
	}
}

// areKeys returns an error unless the keys are those of the servers of the file.
func (u *upping) areKeys() error {
	files, err := (&secured{u.Keys}).read()
	var cluster secure.Cluster
	if err == nil {
		cluster, err = files.Cluster()
	}
	if err != nil {
		return err
	}
	servers := map[string]string{}
	for _, s := range cluster.Servers {
		servers[s.Name] = s.Address
	}
	for _, h := range u.that(install.ServerPart) {
		if address, has := servers[h.Name]; address != h.Address {
			return fmt.Errorf("they have server %s: %v, at the address %q, and the file has it at %s: the servers of a cluster stay as they are", h.Name, has, address, h.Address)
		}
		delete(servers, h.Name)
	}
	if len(servers) > 0 {
		return fmt.Errorf("they have the servers %s too, which the file does not have", strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
	}
	return nil
}

// copies is the step after which a host has this program, and the nats-server beside it if it needs that, unless a package has installed them.
func (u *upping) copies(h clusterHost) (install.Step, error) {
	name := h.Name + " has this program"
	if u.packaged[h.Name] {
		return install.Step{Name: h.Name + " has a package", Has: func(context.Context) (bool, error) { return true, nil }}, nil
	}
	own := install.Host{Program: u.program}
	from := map[string]string{install.Own: u.program}
	if h.runs(install.ServerPart) {
		server, err := own.Beside()
		if err != nil {
			return install.Step{}, err
		}
		from[install.OwnServer] = server
	}
	sums := map[string]string{}
	for at, path := range from {
		content, err := os.ReadFile(path)
		if err != nil {
			return install.Step{}, err
		}
		sum := sha256.Sum256(content)
		sums[at] = hex.EncodeToString(sum[:]) + "  " // as sha256sum reads it before a name
	}
	return install.Step{
		Name: name,
		Has: func(ctx context.Context) (bool, error) {
			var all strings.Builder
			for at, sum := range sums {
				fmt.Fprintln(&all, sum+at)
			}
			_, code, err := u.told(ctx, h, "sha256sum --check --status", strings.NewReader(all.String()))
			return code == 0 && err == nil, err
		},
		Make: func(ctx context.Context) error {
			for _, at := range slices.Sorted(maps.Keys(from)) {
				if err := u.sends(ctx, h, from[at], at, sums[at]); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

// sends copies a program to a host, whole or not at all: where the connection breaks, the host sees no more than the end of the input.
func (u *upping) sends(ctx context.Context, h clusterHost, from, to, sum string) error {
	program, err := os.Open(from)
	if err != nil {
		return err
	}
	line := fmt.Sprintf(`set -e; install -d -m 755 %s; new=$(mktemp %s.XXXXXX); trap 'rm -f "$new"' EXIT
cat > "$new"; echo "%s$new" | sha256sum --check --status; chmod 755 "$new"; sync "$new"; mv "$new" %[2]s`, filepath.Dir(to), to, sum)
	return errors.Join(u.does(ctx, h, line, program), program.Close())
}

// rookery is the program that a host has.
func (u *upping) rookery(h clusterHost) string {
	if u.packaged[h.Name] {
		return install.Packaged
	}
	return install.Own
}

// unpacks begins lines of a shell of a host: they have a folder with the files of the input, which goes with them.
const unpacks = `set -e; umask 077; folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT; tar -x -C "$folder"; `

// pends reports whether a step is still to come. A host cannot be asked before for later ones.
func pends(ctx context.Context, s install.Step) bool {
	has, err := s.Has(ctx)
	return err != nil || !has
}

// serverStep is the step after which a host runs a server, and the bus has all servers again if it was made before.
func (u *upping) serverStep(h clusterHost, copies install.Step) install.Step {
	s := u.installs(h, install.ServerPart, copies, func() (map[string][]byte, error) {
		return folderFiles(filepath.Join(u.Keys, "servers", h.Name), ".")
	})
	installs := s.Make
	s.Make = func(ctx context.Context) error {
		made := u.busIsMade(ctx)
		if err := installs(ctx); err != nil || !made {
			return err
		}
		return u.await(ctx, "the bus has no server too few", u.busIsMade)
	}
	return s
}

// await waits until something is so.
func (u *upping) await(ctx context.Context, what string, is func(context.Context) bool) error {
	const within, again = 3 * time.Minute, time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not within %s: %s", within, what))
	defer cancel()
	for !is(ctx) {
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// installs is the step after which a host runs a part, which needs these files.
func (u *upping) installs(h clusterHost, part string, copies install.Step, needs func() (map[string][]byte, error)) install.Step {
	line := unpacks + u.rookery(h) + " install " + part + ` "$folder"`
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
			if pends(ctx, copies) {
				return false, nil
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
		Has:  func(ctx context.Context) (bool, error) { return u.busIsMade(ctx), nil }, // else init says why
		Make: func(ctx context.Context) error {
			_, err := u.here(ctx, "bus", "init", "--replicas", fmt.Sprint(len(u.that(install.ServerPart))), "--context", u.operator())
			return err
		},
	}
}

// busIsMade reports whether the bus has its streams, on all servers.
func (u *upping) busIsMade(ctx context.Context) bool {
	_, err := u.here(ctx, "bus", "check", "--context", u.operator())
	return err == nil
}

// nodeStep is the step after which a host runs a node that has joined. A token is made for each node that has not.
func (u *upping) nodeStep(h clusterHost, copies install.Step) install.Step {
	line := fmt.Sprintf("%s install node --name %s --address %s", u.rookery(h), h.Name, h.Address)
	joined := "test -e " + filepath.Join(nodesFolder, h.Name+".json")
	ready := func(ctx context.Context) bool {
		told, err := u.here(ctx, "nodes", h.Name, "--context", u.operator())
		return err == nil && strings.Contains(told, " ready ")
	}
	return install.Step{
		Name: h.Name + " runs a node",
		Has: func(ctx context.Context) (bool, error) {
			if pends(ctx, copies) {
				return false, nil
			}
			_, code, err := u.told(ctx, h, joined, nil)
			if err != nil || code != 0 {
				return false, err
			}
			told, code, err := u.told(ctx, h, line+" --dry-run", nil)
			if err != nil || code == 0 || code == exitPending {
				return err == nil && code == 0 && ready(ctx), err
			}
			return false, fmt.Errorf("exit code %d: %s", code, told)
		},
		Make: func(ctx context.Context) error {
			_, code, err := u.told(ctx, h, joined, nil)
			if err != nil {
				return err
			}
			if code == 0 {
				err = u.does(ctx, h, line, nil)
			} else {
				err = u.joins(ctx, h, line)
			}
			if err != nil {
				return err
			}
			return u.await(ctx, "the node "+h.Name+" is ready", ready)
		},
	}
}

// joins runs a line that installs a node, with a token.
func (u *upping) joins(ctx context.Context, h clusterHost, line string) error {
	token, err := u.here(ctx, "token", "create", "--dir", u.Keys, "--context", u.operator())
	if err != nil {
		return err
	}
	return u.does(ctx, h, strings.Replace(line, "install node", "install node -", 1), strings.NewReader(token))
}
