package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	units "github.com/rookery-project/rookery/deploy/package"
)

// The parts of a cluster that a host can run.
const (
	ServerPart      = "server"
	CoordinatorPart = "coordinator"
	NodePart        = "node"
)

// Parts are all of them, in the order in which a cluster starts.
var Parts = []string{ServerPart, CoordinatorPart, NodePart}

const (
	packagedProgram, ownProgram = "/usr/bin/rookery", "/usr/local/bin/rookery"
	packagedServer, ownServer   = "/usr/lib/rookery/nats-server", "/usr/local/lib/rookery/nats-server"
)

// Host is what installs.
type Host struct {
	// Program is the path of the program that runs now: that of a package, or one that the host gets a copy of.
	Program string
	// Units says that systemd runs what is installed.
	Units bool
}

// Check returns an error unless this process can install with this program.
func (h Host) Check() error {
	if os.Geteuid() != 0 {
		return errors.New("only root can install: use sudo. The node's unit uses the Podman of root; with a rootless Podman, run `rookery node` yourself")
	}
	if _, err := os.Stat(packagedProgram); err == nil && !h.packaged() {
		return fmt.Errorf("a package has installed %s: use that, or remove the package", packagedProgram)
	}
	return nil
}

func (h Host) packaged() bool { return h.Program == packagedProgram }

// Start is the command with which an operator starts a part without its unit, and the user for that.
func (h Host) Start(part string) (command, user string) {
	program, server := ownProgram, ownServer
	if h.packaged() {
		program, server = packagedProgram, packagedServer
	}
	configured := fmt.Sprintf("%s %s --config %s", program, part, filepath.Join(Settings, part+".yaml"))
	switch part {
	case ServerPart:
		return fmt.Sprintf("cd %s && %s --config nats.conf", filepath.Join(State, ServerPart), server), Account
	case CoordinatorPart:
		return configured, Account
	default:
		return configured, "root"
	}
}

// common are the steps of all parts.
func (h Host) common() (all []Step, err error) {
	if h.Units {
		all = append(all, hasSystemd())
	}
	all = append(all, folder{"/etc", "rookery", runnable, "root"}.step())
	if h.packaged() {
		return all, nil
	}
	own, err := copied(h.Program, ownProgram)
	return append(all, own), err
}

// copied is the step after which the host has a copy of a program.
func copied(from, at string) (Step, error) {
	content, err := os.ReadFile(from)
	return file{filepath.Dir(at), filepath.Base(at), content, runnable, "root"}.step(), err
}

// runs are the steps after which a unit runs that reads these files.
func (h Host) runs(part string, files []Step) ([]Step, error) {
	if !h.Units {
		return nil, nil
	}
	var read []string
	for _, f := range files {
		read = append(read, f.Name)
	}
	steps := starts(part, read)
	if h.packaged() {
		return steps, nil
	}
	text, err := units.Files.ReadFile(Unit(part))
	if err != nil {
		return nil, err
	}
	own := strings.NewReplacer(packagedProgram, ownProgram, packagedServer, ownServer).Replace(string(text))
	return append([]Step{file{ownUnits, Unit(part), []byte(own), readable, "root"}.step()}, steps...), nil
}

// Server returns the steps of a host that runs a NATS server with these files, by their names below the server's folder.
func (h Host) Server(files map[string][]byte) ([]Step, error) {
	steps, err := h.common()
	if err != nil {
		return nil, err
	}
	if h.packaged() {
		steps = append(steps, Step{Name: packagedServer, Has: func(ctx context.Context) (bool, error) {
			_, err := os.Stat(packagedServer)
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w: install the package rookery-server", err)
			}
			return true, err
		}})
	} else {
		server, err := h.server()
		if err != nil {
			return nil, err
		}
		steps = append(steps, folder{"/usr/local/lib", "rookery", runnable, "root"}.step(), server)
	}
	steps = append(steps, account(), stateFolder(), folder{State, ServerPart, private, Account}.step())
	if h.Units {
		for _, address := range listening.FindAllSubmatch(files["nats.conf"], -1) {
			steps = append(steps, free(string(address[1])))
		}
	}
	kept := below(State, ServerPart, files)
	runs, err := h.runs(ServerPart, kept)
	return slices.Concat(steps, kept, runs), err
}

// listening matches where a server listens, in the configuration of rookery secure init.
var listening = regexp.MustCompile(`(?m)^ *listen: "(.*)"$`)

// free is the step of a host on which no other process than the server's unit listens at the address.
func free(address string) Step {
	return Step{Name: "no other process listens at " + address, Has: func(ctx context.Context) (bool, error) {
		_, active, err := since(ctx, Unit(ServerPart))
		if err != nil || active {
			return active, err
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return false, fmt.Errorf("%w: stop what listens there, which `ss --listening --tcp --processes` names", err)
		}
		return true, l.Close()
	}}
}

// server is the step after which the host has the nats-server that lies beside the program, as in the archive of a release.
func (h Host) server() (Step, error) {
	beside := filepath.Dir(h.Program)
	for _, pattern := range []string{"nats-server", "nats-server-*-linux-" + runtime.GOARCH} {
		found, err := filepath.Glob(filepath.Join(beside, pattern))
		if err != nil {
			return Step{}, err
		}
		if len(found) > 0 {
			return copied(found[0], ownServer)
		}
	}
	return Step{}, fmt.Errorf("there is no nats-server in %s: unpack the archive of a release, which has it beside rookery, or install the packages", beside)
}

// Coordinator returns the steps of a host that runs a coordinator with these settings and files, by their names below Settings.
func (h Host) Coordinator(wanted []Setting, files map[string][]byte) ([]Step, error) {
	steps, err := h.common()
	if err != nil {
		return nil, err
	}
	kept := below("/etc", "rookery", files)
	return h.configured(append(steps, account(), stateFolder()), CoordinatorPart, wanted, kept)
}

// Node returns the steps of a host that runs a node with these settings. Engine are the steps of its Podman, and joined that after which it has
// credentials.
func (h Host) Node(wanted []Setting, engine, joined []Step) ([]Step, error) {
	steps, err := h.common()
	if err != nil {
		return nil, err
	}
	return h.configured(slices.Concat(steps, h.podman(), engine, joined), NodePart, wanted, nil)
}

// configured adds the files, the configuration file and the unit of a part.
func (h Host) configured(steps []Step, part string, wanted []Setting, kept []Step) ([]Step, error) {
	sample, err := units.Files.ReadFile(part + ".yaml")
	if err != nil {
		return nil, err
	}
	kept = append(kept, settings(part+".yaml", sample, wanted))
	runs, err := h.runs(part, kept)
	return slices.Concat(steps, kept, runs), err
}

// podman are the steps of a host whose root has Podman, and its socket.
func (h Host) podman() []Step {
	all := []Step{{Name: "the program podman", Has: func(ctx context.Context) (bool, error) {
		_, err := output(ctx, "podman", "--version")
		return true, err
	}}}
	if !h.Units {
		return all
	}
	const socket = "podman.socket"
	return append(all, Step{
		socket + " is enabled and started",
		func(ctx context.Context) (bool, error) {
			_, active, err := since(ctx, socket)
			return active && enabled(ctx, socket), err
		},
		func(ctx context.Context) error {
			return command(ctx, "systemctl", "enable", "--now", "--quiet", socket)
		},
	})
}

// Remove returns the steps after which the host runs none of the parts, and has no program either if it runs nothing else. The parts leave
// what they have stored, and containers; a package keeps what it has installed.
func (h Host) Remove(parts []string) (steps []Step) {
	for _, part := range parts {
		steps = append(steps, ends(part)...)
	}
	for _, part := range Parts {
		if !slices.Contains(parts, part) && installed(part) {
			return steps
		}
	}
	return append(steps, gone(ownServer), gone(ownProgram))
}

// installed reports whether the host has a unit of its own for the part.
func installed(part string) bool {
	_, err := os.Stat(filepath.Join(ownUnits, Unit(part)))
	return err == nil
}

const private = 0o700

func stateFolder() Step { return folder{"/var/lib", "rookery", private, Account}.step() }

// below are the steps of files that belong to Account, and of the folders that they are in, by names below a folder whose own parent is above.
func below(above, name string, files map[string][]byte) (steps []Step) {
	made := map[string]bool{".": true}
	for _, f := range slices.Sorted(maps.Keys(files)) {
		if dir := path.Dir(f); !made[dir] {
			made[dir] = true
			steps = append(steps, folder{above, path.Join(name, dir), private, Account}.step())
		}
		steps = append(steps, file{above, path.Join(name, f), files[f], ours, Account}.step())
	}
	return steps
}
