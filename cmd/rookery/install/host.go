package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
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
	// Packaged is where a package has the program.
	Packaged       = "/usr/bin/rookery"
	packagedServer = "/usr/lib/rookery/nats-server"
	// Own is where a host has its own copy of the program.
	Own = "/usr/local/bin/rookery"
	// OwnServer is where a host has its own copy of nats-server.
	OwnServer = "/usr/local/lib/rookery/nats-server"
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
	if _, err := os.Stat(Packaged); err == nil && !h.packaged() {
		return fmt.Errorf("a package has installed %s: use that, or remove the package", Packaged)
	}
	return nil
}

func (h Host) packaged() bool { return h.Program == Packaged }

// Start is the command with which an operator starts a part without its unit, and the user for that.
func (h Host) Start(part string) (command, user string) {
	program, server := h.programs()
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
		all = append(all, hasSystemd("with --no-unit, start what you install in your own way"))
	}
	all = append(all, folder{"/etc", "rookery", runnable, "root"}.step())
	if h.packaged() {
		return all, nil
	}
	own, err := copied(h.Program, Own)
	return append(all, own), err
}

// copied is the step after which the host has a copy of a program.
func copied(from, at string) (Step, error) {
	content, err := os.ReadFile(from)
	return file{filepath.Dir(at), filepath.Base(at), content, runnable, "root"}.step(), err
}

// runs are the steps after which a unit runs that reads these files.
func (h Host) runs(part string, files ...string) ([]Step, error) {
	if !h.Units {
		return nil, nil
	}
	program, server := h.programs()
	if part == ServerPart {
		program = server
	}
	if h.packaged() {
		return append([]Step{unhidden(part)}, starts(part, program, files)...), nil
	}
	text, err := units.Files.ReadFile(Unit(part))
	if err != nil {
		return nil, err
	}
	own := strings.NewReplacer(Packaged, Own, packagedServer, OwnServer).Replace(string(text))
	unit := file{ownUnits, Unit(part), []byte(own), readable, "root"}
	return append([]Step{unit.step()}, starts(part, program, append(files, unit.path()))...), nil
}

// programs returns where the host has, or gets, the program and nats-server.
func (h Host) programs() (program, server string) {
	if h.packaged() {
		return Packaged, packagedServer
	}
	return Own, OwnServer
}

// unhidden is the step after which no unit of an earlier copy of the program hides that of the package.
func unhidden(part string) Step {
	own := unitGone(part)
	return Step{
		own.Name,
		func(context.Context) (bool, error) {
			text, err := os.ReadFile(OwnUnit(part))
			if errors.Is(err, fs.ErrNotExist) {
				return true, nil
			}
			return err == nil && !bytes.Contains(text, []byte(filepath.Dir(Own))) && !bytes.Contains(text, []byte(OwnServer)), err
		},
		func(ctx context.Context) error { return errors.Join(ends(part).Make(ctx), own.Make(ctx)) },
	}
}

// Server returns the steps of a host that runs a NATS server with these files, by their names in the server's folder.
func (h Host) Server(files map[string][]byte) ([]Step, error) {
	steps, err := h.common()
	if err != nil {
		return nil, err
	}
	server, err := h.server()
	if err != nil {
		return nil, err
	}
	steps = slices.Concat(steps, server, []Step{account(), stateFolder(), folder{State, ServerPart, private, Account}.step()})
	if h.Units {
		for _, address := range listening.FindAllSubmatch(files["nats.conf"], -1) {
			steps = append(steps, free(string(address[1])))
		}
	}
	steps = append(steps, ofSameCluster(files["nats.conf"]))
	kept := below(State, ServerPart, files)
	runs, err := h.runs(ServerPart, names(kept)...)
	return slices.Concat(steps, kept, runs), err
}

// operator matches who signs the accounts of a server, in the configuration of rookery secure init.
var operator = regexp.MustCompile(`(?m)^operator: (.*)$`)

// ofSameCluster is the step of a host that keeps nothing of another cluster: with other keys, a server cannot read what it has stored.
func ofSameCluster(configuration []byte) Step {
	return Step{Name: "no server of another cluster", Has: func(context.Context) (bool, error) {
		at := filepath.Join(State, ServerPart, "nats.conf")
		before, err := os.ReadFile(at)
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if its := operator.Find(before); err == nil && its != nil && !bytes.Equal(its, operator.Find(configuration)) {
			err = fmt.Errorf("%s is of a cluster with other keys: use those, or move %s away", at, filepath.Dir(at))
		}
		return err == nil, err
	}}
}

// listening matches where a server listens, in the configuration of rookery secure init.
var listening = regexp.MustCompile(`(?m)^ *listen: "(.*)"$`)

// free is the step of a host on which no other process than the server's unit listens at the address.
func free(address string) Step {
	return Step{Name: "no other process listens at " + address, Has: func(ctx context.Context) (bool, error) {
		now, err := stateOf(ctx, Unit(ServerPart))
		if err != nil || !now.over() {
			return err == nil, err
		}
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return false, fmt.Errorf("%w: stop what listens there, which `ss --listening --tcp --processes` names", err)
		}
		return true, l.Close()
	}}
}

// server are the steps after which the host has nats-server: that of a package, or a copy of the one beside the program, as in the archive of a release.
func (h Host) server() ([]Step, error) {
	if h.packaged() {
		return []Step{there(packagedServer, "rookery-server")}, nil
	}
	beside, err := h.Beside()
	if err != nil {
		return nil, err
	}
	server, err := copied(beside, OwnServer)
	return []Step{folder{"/usr/local/lib", "rookery", runnable, "root"}.step(), server}, err
}

// Beside returns the path of the nats-server that lies beside the program.
func (h Host) Beside() (string, error) {
	switch h.Program {
	case Packaged:
		return packagedServer, nil
	case Own:
		return OwnServer, nil
	}
	beside := filepath.Dir(h.Program)
	var found []string
	for _, pattern := range []string{"nats-server", "nats-server-*-linux-" + runtime.GOARCH} {
		more, err := filepath.Glob(filepath.Join(beside, pattern))
		if err != nil {
			return "", err
		}
		found = append(found, more...)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("there are %d programs nats-server in %s, want one: unpack the archive of a release, which has it beside rookery, or install the packages",
			len(found), beside)
	}
	return found[0], nil
}

// there is the step of a host that has a file of a package.
func there(path, debian string) Step {
	return Step{Name: path, Has: func(context.Context) (bool, error) {
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = needs(err, debian)
		}
		return err == nil, err
	}}
}

// Coordinator returns the steps of a host that runs a coordinator with these settings and files, by their names below Settings.
func (h Host) Coordinator(wanted []Setting, files map[string][]byte) ([]Step, error) {
	steps, err := h.common()
	if err != nil {
		return nil, err
	}
	kept := below(Settings, ".", files)
	configured, err := settings(CoordinatorPart, wanted)
	if err != nil {
		return nil, err
	}
	runs, err := h.runs(CoordinatorPart, names(append(kept, configured))...)
	return slices.Concat(steps, []Step{account(), stateFolder(), configured}, kept, runs), err
}

// Node returns the steps of a host that runs a node with these settings. Engine are the steps of its Podman, and joined those after which it has
// credentials, which the settings name.
func (h Host) Node(wanted []Setting, engine, joined []Step) ([]Step, error) {
	steps, err := h.common()
	if err != nil {
		return nil, err
	}
	configured, err := settings(NodePart, wanted)
	if err != nil {
		return nil, err
	}
	// The configuration comes first: if it is refused, the token is not used.
	runs, err := h.runs(NodePart, names(append([]Step{configured}, joined...))...)
	return slices.Concat(steps, h.podman(), engine, []Step{configured}, joined, runs), err
}

// podman are the steps of a host whose root has Podman, a runtime, and a socket.
func (h Host) podman() []Step {
	all := []Step{
		{Name: "the program podman", Has: func(ctx context.Context) (bool, error) {
			_, err := output(ctx, "podman", "--version")
			return err == nil, err
		}},
		{Name: "the program runc or crun", Has: func(context.Context) (bool, error) {
			_, err := exec.LookPath("runc")
			if err != nil {
				_, err = exec.LookPath("crun")
			}
			if err != nil {
				err = needs(err, "crun")
			}
			return err == nil, err
		}},
	}
	if !h.Units {
		return all
	}
	const socket = "podman.socket"
	return append(all, Step{
		socket + " is enabled and started",
		func(ctx context.Context) (bool, error) {
			now, err := stateOf(ctx, socket)
			return now.active() && enabled(ctx, socket), err
		},
		func(ctx context.Context) error {
			return command(ctx, "systemctl", "enable", "--now", "--quiet", socket)
		},
	})
}

// Remove returns the steps after which systemd runs none of the parts on this host. First are the steps before that. If the units were the host's
// own, they go, and with the last one the copies of the programs. The parts leave what they have stored, and containers; a package keeps what it has
// installed.
func (h Host) Remove(parts []string, first ...Step) []Step {
	steps := append([]Step{hasSystemd("stop what you have started, and remove its files")}, first...)
	for _, part := range parts {
		steps = append(steps, ends(part))
		if !h.packaged() {
			steps = append(steps, unitGone(part))
		}
	}
	others := slices.ContainsFunc(Parts, func(part string) bool { return !slices.Contains(parts, part) && installed(part) })
	if h.packaged() || others {
		return steps
	}
	return append(steps, gone(OwnServer), gone(Own))
}

// installed reports whether the host has a unit of its own for the part.
func installed(part string) bool {
	_, err := os.Stat(OwnUnit(part))
	return err == nil
}

const private = 0o700

func stateFolder() Step { return folder{"/var/lib", "rookery", private, Account}.step() }

// below are the steps of files that belong to Account, and of the folders that they are in, by names below a folder, which is below another one.
func below(top, name string, files map[string][]byte) (steps []Step) {
	made := map[string]bool{".": true}
	for _, f := range slices.Sorted(maps.Keys(files)) {
		if dir := path.Dir(f); !made[dir] {
			made[dir] = true
			steps = append(steps, folder{top, path.Join(name, dir), private, Account}.step())
		}
		steps = append(steps, file{top, path.Join(name, f), files[f], ours, Account}.step())
	}
	return steps
}

// names are those of steps, which for files are their paths.
func names(steps []Step) (all []string) {
	for _, s := range steps {
		all = append(all, s.Name)
	}
	return all
}
