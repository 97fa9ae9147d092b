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
	"regexp"
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
		has := copies.Has
		copies.Has = func(ctx context.Context) (bool, error) {
			if has, err := has(ctx); err != nil || has {
				return has, err
			}
			return false, u.runsNoOther(ctx, h)
		}
		copied[h.Name] = copies
		steps = append(steps, copies)
	}
	for _, h := range u.that(install.ServerPart) {
		steps = append(steps, u.serverStep(h, copied[h.Name]))
	}
	steps = append(steps, u.busStep())
	for _, h := range u.that(install.CoordinatorPart) {
		steps = append(steps, u.coordinatorStep(h, copied[h.Name]))
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
		const advice = "the servers of a cluster keep their names and addresses: repair the file, or name other keys"
		switch address, has := servers[h.Name]; {
		case !has:
			return fmt.Errorf("they have no server %s: %s", h.Name, advice)
		case address != h.Address:
			return fmt.Errorf("they have server %s at %s, and the file at %s: %s", h.Name, address, h.Address, advice)
		}
		delete(servers, h.Name)
	}
	if len(servers) > 0 {
		return fmt.Errorf("they have the servers %s too, which the file does not have", strings.Join(slices.Sorted(maps.Keys(servers)), ", "))
	}
	return nil
}

// programs are those that a host gets, unless a package has installed them: where each is here, and its line for sha256sum, by where it is there.
type programs map[string]struct{ from, sum string }

// programs returns this program, and the nats-server beside it if the host needs that.
func (u *upping) programs(h clusterHost) (programs, error) {
	from := map[string]string{install.Own: u.program}
	if h.runs(install.ServerPart) {
		server, err := install.Host{Program: u.program}.Beside()
		if err != nil {
			return nil, err
		}
		from[install.OwnServer] = server
	}
	all := programs{}
	for at, path := range from {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(content)
		all[at] = struct{ from, sum string }{path, hex.EncodeToString(sum[:]) + "  "}
	}
	return all, nil
}

// sums is the input with which sha256sum checks the programs.
func (p programs) sums() io.Reader {
	var all strings.Builder
	for at, program := range p {
		fmt.Fprintln(&all, program.sum+at)
	}
	return strings.NewReader(all.String())
}

// copies is the step after which a host has this program, and the nats-server beside it if it needs that, unless a package has installed them.
func (u *upping) copies(h clusterHost) (install.Step, error) {
	if u.packaged[h.Name] {
		return install.Step{Name: h.Name + " has a package", Has: func(context.Context) (bool, error) { return true, nil }}, nil
	}
	wanted, err := u.programs(h)
	return install.Step{
		Name: h.Name + " has this program",
		Has: func(ctx context.Context) (bool, error) {
			_, code, err := u.told(ctx, h, "sha256sum --check --status", wanted.sums())
			return code == 0 && err == nil, err
		},
		Make: func(ctx context.Context) error {
			for _, at := range slices.Sorted(maps.Keys(wanted)) {
				if err := u.sends(ctx, h, wanted[at].from, at, wanted[at].sum); err != nil {
					return err
				}
			}
			return nil
		},
	}, err
}

// runsNoOther returns an error if the host runs parts of a cluster, and other programs than these.
func (u *upping) runsNoOther(ctx context.Context, h clusterHost) error {
	wanted, err := u.programs(h)
	if err != nil {
		return err
	}
	_, code, err := u.told(ctx, h, "sha256sum --check --status --ignore-missing", wanted.sums())
	if err != nil || code == 0 {
		return err
	}
	runs, err := u.installed(ctx, h)
	if err == nil && len(runs) > 0 {
		err = fmt.Errorf("it runs a %s of another release: use that, or change the release with rookery cluster upgrade", strings.Join(runs, " and a "))
	}
	return err
}

// installed returns the parts that the host has units for: its own, or those of a package that start with the host.
func (u *upping) installed(ctx context.Context, h clusterHost) (parts []string, err error) {
	for _, part := range install.Parts {
		_, code, err := u.told(ctx, h, "test -e "+install.OwnUnit(part)+" || systemctl is-enabled --quiet "+install.Unit(part), nil)
		if err != nil {
			return nil, err
		}
		if code == 0 {
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// replaced is the end of the name of a program that another one has replaced.
const replaced = ".before"

// sends copies a program to a host, whole or not at all: a connection that breaks looks like the end of the input there. The host keeps the program that
// it had, beside the new one.
func (u *upping) sends(ctx context.Context, h clusterHost, from, to, sum string) error {
	program, err := os.Open(from)
	if err != nil {
		return err
	}
	line := fmt.Sprintf(`set -e; install -d -m 755 %[1]s; new=$(mktemp %[2]s.XXXXXX); trap 'rm -f "$new"' EXIT
cat > "$new"; echo "%[3]s$new" | sha256sum --check --status; chmod 755 "$new"; sync "$new"
if test -e %[2]s; then if cmp -s "$new" %[2]s; then exit 0; fi; ln -f %[2]s %[2]s%[4]s; fi; mv "$new" %[2]s`, filepath.Dir(to), to, sum, replaced)
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
	s := u.lonelyStep(h, copies)
	installs := s.Make
	s.Make = func(ctx context.Context) error {
		made := u.busIsMade(ctx) == nil
		if err := installs(ctx); err != nil || !made {
			return err
		}
		return await(ctx, settlesWithin, u.busIsMade)
	}
	return s
}

// lonelyStep is the step after which a host runs a server, whatever the others do.
func (u *upping) lonelyStep(h clusterHost, copies install.Step) install.Step {
	return u.installs(h, install.ServerPart, copies, func() (map[string][]byte, error) {
		return folderFiles(filepath.Join(u.Keys, "servers", h.Name), ".")
	})
}

// coordinatorStep is the step after which a host runs a coordinator.
func (u *upping) coordinatorStep(h clusterHost, copies install.Step) install.Step {
	return u.installs(h, install.CoordinatorPart, copies, func() (map[string][]byte, error) { return coordinatorNeeds(u.Keys) })
}

// settlesWithin is how long something may take that follows from a change.
const settlesWithin = 3 * time.Minute

// await waits until a check finds nothing wrong.
func await(ctx context.Context, within time.Duration, check func(context.Context) error) error {
	const again = time.Second
	late := time.After(within)
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(again):
		case <-late:
			return fmt.Errorf("not within %s: %w", within, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// installs is the step after which a host runs a part, which needs these files.
func (u *upping) installs(h clusterHost, part string, copies install.Step, needs func() (map[string][]byte, error)) install.Step {
	input := func() (io.Reader, error) {
		files, err := needs()
		return packed(files), err
	}
	return u.installsBy(unpacks+u.rookery(h)+" install "+part+` "$folder"`, h, part, copies, input)
}

// installsBy is the step after which a host runs a part, by a line of a shell with this input.
func (u *upping) installsBy(line string, h clusterHost, part string, copies install.Step, input func() (io.Reader, error)) install.Step {
	return install.Step{
		Name: fmt.Sprintf("%s runs a %s", h.Name, part),
		Has: func(ctx context.Context) (bool, error) {
			in, err := input()
			if errors.Is(err, os.ErrNotExist) {
				return false, nil // the keys are made first
			}
			if err != nil {
				return false, err
			}
			if pends(ctx, copies) {
				return false, nil
			}
			told, code, err := u.told(ctx, h, line+" --dry-run", in)
			if err != nil || code == 0 || code == exitPending {
				return code == 0 && err == nil, err
			}
			return false, fmt.Errorf("exit code %d: %s", code, told)
		},
		Make: func(ctx context.Context) error {
			in, err := input()
			if err != nil {
				return err
			}
			return u.does(ctx, h, line, in)
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
		Has:  func(ctx context.Context) (bool, error) { return u.busIsMade(ctx) == nil, nil }, // else init says why
		Make: func(ctx context.Context) error {
			_, err := u.here(ctx, "bus", "init", "--replicas", fmt.Sprint(len(u.that(install.ServerPart))), "--context", u.operator())
			return err
		},
	}
}

// busIsMade returns an error unless the bus has its streams, on all servers.
func (u *upping) busIsMade(ctx context.Context) error {
	_, err := u.here(ctx, "bus", "check", "--context", u.operator())
	return err
}

// worksAs matches the states of a node that works, also where an operator has taken it out of service.
var worksAs = regexp.MustCompile(` (ready|paused|draining|drained) `)

// nodeStep is the step after which a host runs a node that has joined and works. A token is made for each node that has not joined.
func (u *upping) nodeStep(h clusterHost, copies install.Step) install.Step {
	step := u.joinedStep(h, copies)
	has, installs := step.Has, step.Make
	joined := func(ctx context.Context) (bool, error) {
		_, code, err := u.told(ctx, h, "test -e "+filepath.Join(nodesFolder, h.Name+".json"), nil)
		return code == 0 && err == nil, err
	}
	works := func(ctx context.Context) error {
		told, err := u.here(ctx, "nodes", h.Name, "--context", u.operator())
		if err == nil && !worksAs.MatchString(told) {
			err = fmt.Errorf("the node %s does not work:\n%s", h.Name, told)
		}
		return err
	}
	step.Has = func(ctx context.Context) (bool, error) {
		if joined, err := joined(ctx); err != nil || !joined {
			return false, err
		}
		has, err := has(ctx)
		return has && works(ctx) == nil, err
	}
	step.Make = func(ctx context.Context) error {
		is, err := joined(ctx)
		if err != nil {
			return err
		}
		if !is {
			installs = func(ctx context.Context) error { return u.joins(ctx, h) }
		}
		if err := installs(ctx); err != nil {
			return err
		}
		return await(ctx, settlesWithin, works)
	}
	return step
}

// joinedStep is the step after which a host runs a node that has joined before.
func (u *upping) joinedStep(h clusterHost, copies install.Step) install.Step {
	return u.installsBy(u.nodeLine(h, ""), h, install.NodePart, copies, func() (io.Reader, error) { return nil, nil }) //nolint:nilnil // it has no input
}

// nodeLine is a line of a shell that installs a node, with this token.
func (u *upping) nodeLine(h clusterHost, token string) string {
	return fmt.Sprintf("%s install node %s --name %s --address %s", u.rookery(h), token, h.Name, h.Address)
}

// joins installs a node with a new token.
func (u *upping) joins(ctx context.Context, h clusterHost) error {
	token, err := u.here(ctx, "token", "create", "--dir", u.Keys, "--context", u.operator())
	if err != nil {
		return err
	}
	return u.does(ctx, h, u.nodeLine(h, "-"), strings.NewReader(token))
}
