package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
where it stopped. Run it again too for hosts that you have added to the file. rookery cluster upgrade brings another release to the hosts.

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
		u, err := onHosts(cmd, args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, u.close()) }()
		steps, err := u.steps()
		if err != nil {
			return err
		}
		if agreed, err := agreed(cmd, steps, dryRun, yes); err != nil || !agreed {
			return err
		}
		if err := carryOut(cmd, steps, false); err != nil {
			return err
		}
		_, err = fmt.Fprintf(u.out, "The cluster runs. Ask it with: rookery nodes --context %s\nMove the folder offline in %s to another machine.\n", u.operator(), u.Keys)
		return err
	}
	return cmd
}

// agreed shows the steps that are still to come as a plan, and reports whether they are to be carried out.
func agreed(cmd *cobra.Command, steps []install.Step, dryRun, yes bool) (bool, error) {
	err := carryOut(cmd, steps, true)
	switch {
	case err == nil:
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%-8s all of it, on every host\n", "already")
		return false, err
	case dryRun || !errors.Is(err, errPending):
		return false, err
	case yes:
		return true, nil
	}
	err = agree(cmd, output{}, nil)
	return err == nil, err
}

// onHosts reads a file of hosts, and connects to all of them. The caller closes the connections.
func onHosts(cmd *cobra.Command, name string) (*upping, error) {
	u, err := readHosts(cmd, name)
	if err != nil {
		return nil, err
	}
	if err := u.reach(cmd.Context()); err != nil {
		return nil, errors.Join(err, u.close())
	}
	return u, nil
}

// readHosts reads a file of hosts.
func readHosts(cmd *cobra.Command, name string) (*upping, error) {
	for _, way := range ofLink {
		if cmd.Flags().Changed(way) {
			return nil, usage(cmd, fmt.Errorf("--%s is not for %s: the bus is on the hosts of the file", way, cmd.CommandPath()))
		}
	}
	text, err := os.ReadFile(name)
	var file hostsFile
	if err == nil {
		file, err = parseHosts(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !filepath.IsAbs(file.Keys) {
		file.Keys = filepath.Join(filepath.Dir(name), file.Keys)
	}
	program, err := os.Executable()
	return &upping{hostsFile: file, out: cmd.OutOrStdout(), program: program, at: map[string]*remote.Host{}, packaged: map[string]bool{}}, err
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
	var errs []error
	for _, h := range u.Hosts {
		if err := u.reachOne(ctx, h); err != nil {
			errs = append(errs, fmt.Errorf("%s at %s: %w", h.Name, h.SSH, err))
		}
	}
	return errors.Join(errs...)
}

func (u *upping) reachOne(ctx context.Context, h clusterHost) error {
	at, err := remote.Dial(ctx, h.SSH)
	if err != nil {
		return err
	}
	u.at[h.Name] = at
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}
	told, code, err := u.told(ctx, h, "id -u && uname -m && { test -x "+install.Packaged+" && echo packaged || true; }", nil)
	switch facts := strings.Fields(told); {
	case err != nil:
		return err
	case code != 0 || len(facts) < 2:
		return fmt.Errorf("it does not say who logs in: exit code %d: %s", code, told)
	case facts[0] != "0":
		return errors.New("this user is not root: only root can install")
	case len(facts) > 2: // its package is for its machine
		u.packaged[h.Name] = true
	case facts[1] != machines[runtime.GOARCH]:
		return fmt.Errorf("it is a machine of %s, and this program is for %s: use a release for that machine, or install its package there", facts[1], machines[runtime.GOARCH])
	}
	return nil
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
