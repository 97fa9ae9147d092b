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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/cmd/rookery/install"
	"github.com/rookery-project/rookery/cmd/rookery/secure"
)

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
		steps = append(steps, u.installs(h, install.CoordinatorPart, copied[h.Name], func() (map[string][]byte, error) { return coordinatorNeeds(u.Keys) }))
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

// sends copies a program to a host, whole or not at all: a connection that breaks looks like the end of the input there.
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
