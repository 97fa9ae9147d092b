package events

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Defaults and limits of topologies.
const (
	DefaultTopologyPath = "/run/rookery"
	// TopologyFile is the name of the file in the folder that is mounted.
	TopologyFile = "topology.json"
	// MaxTopologyScale bounds services whose instances know of each other. MaxTopologySize bounds the bytes that say where all of them are:
	// one message tells each instance of all.
	MaxTopologyScale = 256
	MaxTopologySize  = 512 << 10
	// MaxRescaleAttempts is how many attempts a rescale has where on_failure is retry.
	MaxRescaleAttempts = 3
)

// TopologySpec says how the instances of a service know of each other, and change together.
type TopologySpec struct {
	// Topology gives every instance a file that says how many instances there are, and where. The scale then changes in phases: no instance
	// begins a phase before all are done with the one before. Only for mode replicated, with a scale of 256 at most.
	Topology *TopologyRules `json:"topology,omitzero"`
	// Hooks are what instances are asked when the topology changes, when a snapshot is taken, and before they are stopped. Without
	// release, acquire or snapshot its phase is over at once.
	Hooks *Hooks `json:"hooks,omitempty"`
}

// TopologyRules say how instances learn the topology, and what happens where one does not follow.
type TopologyRules struct {
	// Path is the folder in the container in which the file topology.json is; read-only, and replaced as a whole. Default: /run/rookery.
	Path string `json:"path,omitempty" jsonschema:"pattern=^(/[^:\\x2c]*)?$"`
	// OnFailure is what follows where an instance does not get through a phase, by its hook's answer or within update.healthy_deadline. It
	// is abort (the earlier scale comes back, by phases of its own), retry (up to 3 attempts in all, then as with abort) or continue (the
	// coordinator no longer waits for the instance). Default: abort.
	OnFailure RescaleFailure `json:"on_failure,omitempty"`
}

// RescaleFailure is what follows where an instance does not get through a phase of a rescale.
type RescaleFailure string

// The values of RescaleFailure.
const (
	RescaleAbort    RescaleFailure = "abort"
	RescaleRetry    RescaleFailure = "retry"
	RescaleContinue RescaleFailure = "continue"
)

// Hooks are run in every instance, at least once for each change of the topology, each snapshot, or each order to stop it.
type Hooks struct {
	// Release tells the instance to stop serving what the next topology takes from it.
	Release *Hook `json:"release,omitempty"`
	// Acquire tells the instance to take what the next topology gives it, and to serve that.
	Acquire *Hook `json:"acquire,omitempty"`
	// Snapshot tells the instance to write its data to its volumes with state, and to leave these unchanged until the node has kept them:
	// in phase hold of a snapshot. It needs no topology.
	Snapshot *Hook `json:"snapshot,omitempty"`
	// BeforeStop prepares a running instance for its end when the node is told to stop it, in every mode and without a topology. It comes after
	// drain_delay. It has stop_grace for that, and the instance has as much again after the signal. Where the hook fails or takes longer, the node
	// stops the instance all the same. Set update.healthy_deadline above all three together: an update waits no longer than that for an instance to
	// stop.
	BeforeStop *Hook `json:"before_stop,omitempty"`
}

// Hook is how an instance is asked. Exactly one of signal, exec and http says how.
type Hook struct {
	// Signal is sent to the process, as in SIGHUP. The process counts as done at once.
	Signal string `json:"signal,omitempty"`
	// Exec is a command that the node runs in the container: exit code 0 means done. Its environment has ROOKERY_PHASE, which is release,
	// acquire, hold or before_stop. A change of the topology adds ROOKERY_OPERATION, ROOKERY_ATTEMPT and ROOKERY_CONFIG_VERSION. A snapshot
	// adds ROOKERY_OPERATION and ROOKERY_SNAPSHOT, which is the version of the snapshot. The coordinator stops waiting after
	// update.healthy_deadline (stop_grace before a stop), or once another change overtakes this one. The command then runs on: it must act
	// only on what the file still says.
	Exec []string `json:"exec,omitempty"`
	// HTTP is a POST, and a status from 200 to 299 means done. Its body is what the file says of the change, or operation, phase and
	// version of the snapshot, or {"phase":"before_stop"}.
	HTTP *HTTPHook `json:"http,omitempty"`
}

// HTTPHook is the address of the POST.
type HTTPHook struct {
	// Port is the name of one of the service's ports.
	Port string `json:"port"`
	// Path is the path of the request, with its query. Default: "/".
	Path string `json:"path,omitempty"`
}

// Hook returns what instances are asked in the phase; nil for nothing.
func (s TopologySpec) Hook(phase OperationPhase) *Hook {
	hook := operationPhases[phase].hook
	if s.Hooks == nil || hook == nil {
		return nil
	}
	return hook(s.Hooks)
}

// canonical writes out the defaults.
func (s TopologySpec) canonical() TopologySpec {
	if s.Topology != nil {
		s.Topology = &TopologyRules{
			Path:      path.Clean(cmp.Or(s.Topology.Path, DefaultTopologyPath)),
			OnFailure: cmp.Or(s.Topology.OnFailure, RescaleAbort),
		}
	}
	if s.Hooks != nil {
		s.Hooks = &Hooks{
			Release: s.Hooks.Release.canonical(), Acquire: s.Hooks.Acquire.canonical(),
			Snapshot: s.Hooks.Snapshot.canonical(), BeforeStop: s.Hooks.BeforeStop.canonical(),
		}
		if *s.Hooks == (Hooks{}) {
			s.Hooks = nil
		}
	}
	return s
}

func (h *Hook) canonical() *Hook {
	if h == nil {
		return nil
	}
	c := *h
	c.Exec = orNil(c.Exec)
	if c.HTTP != nil {
		c.HTTP = &HTTPHook{c.HTTP.Port, cmp.Or(c.HTTP.Path, "/")}
	}
	return &c
}

func (s TopologySpec) check(mode Mode, ports []Port, mounted func(at string) string) error {
	s = s.canonical()
	if err := s.Hooks.check(ports); err != nil {
		return err
	}
	switch {
	case s.Topology == nil && s.Hooks != nil && (s.Hooks.Release != nil || s.Hooks.Acquire != nil):
		return Reject(CodeMissingField, "topology", "topology is missing: hooks.release and hooks.acquire are run as it changes; add \"topology\":{}, or leave them out")
	case s.Topology == nil:
		return nil
	case mode == ModeJob || mode == ModeGlobal:
		return Reject(CodeInvalidValue, "topology", "topology is given, and mode is %s: only replicated services have one", mode)
	}
	if err := checkMountPath("topology.path", s.Topology.Path); err != nil {
		return err
	}
	if s.Topology.Path == "/" {
		return Reject(CodeInvalidValue, "topology.path", "topology.path is the container's root: mount below it")
	}
	if other := mounted(s.Topology.Path); other != "" {
		return Reject(CodeInvalidValue, "topology.path", "topology and %s are mounted at one path, %s: give one of them another", other, quote(s.Topology.Path))
	}
	if known := []RescaleFailure{RescaleAbort, RescaleRetry, RescaleContinue}; !slices.Contains(known, s.Topology.OnFailure) {
		return Reject(CodeInvalidValue, "topology.on_failure", "topology.on_failure %s is not known: known are abort, retry, continue", quote(string(s.Topology.OnFailure)))
	}
	return nil
}

func (h *Hooks) check(ports []Port) error {
	if h == nil {
		return nil
	}
	if err := h.Release.check("hooks.release", ports); err != nil {
		return err
	}
	if err := h.Acquire.check("hooks.acquire", ports); err != nil {
		return err
	}
	if err := h.Snapshot.check("hooks.snapshot", ports); err != nil {
		return err
	}
	return h.BeforeStop.check("hooks.before_stop", ports)
}

// signalNames are those of the signals that a process may handle.
var signalNames = regexp.MustCompile(`^SIG[A-Z][A-Z0-9+]{1,15}$`)

func (h *Hook) check(field string, ports []Port) error {
	if h == nil {
		return nil
	}
	ways := 0
	for _, given := range []bool{h.Signal != "", len(h.Exec) > 0, h.HTTP != nil} {
		if given {
			ways++
		}
	}
	switch {
	case ways != 1:
		return Reject(CodeInvalidValue, field, "%s has %d of signal, exec and http: give exactly one", field, ways)
	case h.HTTP != nil:
		if err := checkHTTPPath(field+".http.path", h.HTTP.Path); err != nil {
			return err
		}
		return checkPortName(field+".http.port", h.HTTP.Port, ports)
	case h.Signal != "" && !signalNames.MatchString(h.Signal):
		return Reject(CodeInvalidValue, field+".signal", "%s.signal %s is not a signal: write it as SIGHUP", field, quote(h.Signal))
	}
	return checkList(field+".exec", h.Exec)
}

// checkTopologyScale refuses scales beyond what a service whose instances know of each other may have.
func (s Spec) checkTopologyScale(scale uint32) error {
	const host, port = 300, 12 // bytes of a peer with the longest name of a host, and of a port beside its name
	size := host
	for _, p := range s.Ports {
		size += len(p.Name) + port
	}
	size *= int(scale)
	switch {
	case s.Topology == nil:
	case scale > MaxTopologyScale:
		return Reject(CodeOutOfRange, "scale", "scale %d is more than %d, and topology is given: every instance learns of all others", scale, MaxTopologyScale)
	case size > MaxTopologySize:
		return Reject(CodeOutOfRange, "scale", "scale %d takes %d bytes to say where all ports are, more than %d, and topology is given: every "+
			"instance learns of all; name fewer ports, or shorter", scale, size, MaxTopologySize)
	}
	return nil
}

// checkHTTPPath refuses what cannot stand in a request.
func checkHTTPPath(field, path string) error {
	if err := checkText(field, path); err != nil {
		return err
	}
	if !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(r rune) bool { return r >= 0x7f || r <= ' ' }) {
		return Reject(CodeInvalidValue, field, "%s %s is not a path: begin it with \"/\", and write spaces and all but plain ASCII as %%20", field, quote(path))
	}
	return nil
}

// mountedIn names what else the spec mounts at the folder, or a file of it in there; "" for nothing.
func (s Spec) mountedIn(folder string) string {
	for i, v := range s.Volumes {
		if path.Clean(v.Path) == folder {
			return fmt.Sprintf("volumes[%d]", i)
		}
	}
	if s.Scratch != nil && s.ScratchPath() == folder {
		return "scratch"
	}
	for i, c := range s.ConfigSpec.canonical().Configs {
		if strings.HasPrefix(c.Path, folder+"/") {
			return fmt.Sprintf("configs[%d]", i)
		}
	}
	for i, c := range s.SecretSpec.canonical().Secrets {
		if strings.HasPrefix(c.Path, folder+"/") {
			return fmt.Sprintf("secrets[%d]", i)
		}
	}
	return ""
}
