package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
)

// Limits on a service's spec.
const (
	MaxScale     = 10_000
	MaxPorts     = 64
	MaxArguments = 256
	MaxVariables = 256
	MaxLabels    = 64
	MaxText      = 4096 // bytes of one image name, argument, value or label
	MaxStopGrace = Duration(time.Hour)
)

// ReservedLabel begins the container labels that Rookery writes itself.
const ReservedLabel = "io.rookery."

// Spec says what every instance of a service is. Equal specs have equal hashes; the scale stands beside it.
type Spec struct {
	// Image is the container image, as Podman takes it: localhost/web:1 or registry.example.org/team/web@sha256:….
	Image string `json:"image" jsonschema:"minLength=1,maxLength=4096"`
	// Command replaces the image's entry point. Like all commands, args and values of env here it is a template over the
	// addresses that are known when the instance is placed: {{.Address "http"}}, {{join (.Peers "http") ","}}.
	Command []string `json:"command,omitempty"`
	// Args replace the image's command.
	Args []string `json:"args,omitempty"`
	// Env adds environment variables.
	Env map[string]string `json:"env,omitempty"`
	// Ports are published on the node under ports that the coordinator picks from the node's range.
	Ports []Port `json:"ports,omitempty"`
	// Resources are limits: an instance never gets more. Requests are what placement sets aside for it; the limits where
	// they say nothing.
	Resources Resources `json:"resources,omitzero"`
	Requests  Resources `json:"requests,omitzero"`
	Placement
	// Mode is replicated (as many as the scale says), global (one on every node that the spec does not exclude, those that join later
	// included) or job (run to completion). Default: replicated.
	Mode Mode `json:"mode,omitempty"`
	// Labels go onto the containers, and selectors choose by them.
	Labels map[string]string `json:"labels,omitempty"`
	// StopGrace is the time between the request to stop and the kill. The hook hooks.before_stop has as much time, before and in addition.
	// Default: 10s; 0s also means the default.
	StopGrace Duration `json:"stop_grace,omitzero"`
	DrainSpec
	ProcessSpec
	NetworkSpec
	VolumeSpec
	ScratchSpec
	DeviceSpec
	SecretSpec
	ConfigSpec
	ImageSpec
	InitSpec
	HealthSpec
	RestartSpec
	DisconnectSpec
	SidecarSpec
	JobSpec
	UpdateSpec
	TopologySpec
	SnapshotSpec
	ExclusiveSpec
}

// Port is one named port of a service.
type Port struct {
	Name string `json:"name" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=63"`
	// Port is the port inside the container.
	Port uint16 `json:"port" jsonschema:"minimum=1"`
	// Protocol is tcp or udp. Default: tcp.
	Protocol Protocol `json:"protocol,omitempty"`
	// HostPort is the one on the node, where it must be a certain one; 0 for one that the coordinator picks.
	HostPort uint16 `json:"host_port,omitzero"`
}

// HostPort is a port of a node. One number can be two of them, one for each protocol.
type HostPort struct {
	Number   uint16
	Protocol Protocol
}

// OnHost returns the port of the node that the spec names; of number 0 for one that the coordinator picks.
func (p Port) OnHost() HostPort { return HostPort{p.HostPort, cmp.Or(p.Protocol, TCP)} }

// OnHost returns the port of the node.
func (b PortBinding) OnHost() HostPort { return HostPort{b.HostPort, cmp.Or(b.Protocol, TCP)} }

// Protocol is the transport of a port.
type Protocol string

// The protocols of a port.
const (
	TCP Protocol = "tcp"
	UDP Protocol = "udp"
)

// DefaultStopGrace is Podman's own.
const DefaultStopGrace = Duration(10 * time.Second)

// Duration is a span of time, written as Go writes it: "10s", "1m30s".
type Duration time.Duration

// MarshalText writes the duration as "10s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads "10s". Its errors are *Rejection.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return Reject(CodeInvalidValue, "", "%s is not a duration: write it as 10s, 500ms or 1m30s", quote(string(text)))
	}
	*d = Duration(parsed)
	return nil
}

// withDefaults returns the spec with every default written out and no list or map that is there but empty, so that
// equal meanings are equal values: what the log gives back is what was decided on. The groups leave their defaults out
// instead: they came later, and specs from before keep their hashes.
func (s Spec) withDefaults() Spec {
	if len(s.Command) == 0 {
		s.Command = nil
	}
	if len(s.Args) == 0 {
		s.Args = nil
	}
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Labels) == 0 {
		s.Labels = nil
	}
	s.Placement = s.Placement.withDefaults()
	if s.StopGrace == 0 {
		s.StopGrace = DefaultStopGrace
	}
	s.Ports = append([]Port(nil), s.Ports...) // nil where there are none
	for i := range s.Ports {
		if s.Ports[i].Protocol == "" {
			s.Ports[i].Protocol = TCP
		}
	}
	s.DrainSpec = s.DrainSpec.canonical()
	s.ProcessSpec = s.ProcessSpec.canonical()
	s.NetworkSpec = s.NetworkSpec.canonical()
	s.VolumeSpec = s.VolumeSpec.canonical()
	s.ScratchSpec = s.ScratchSpec.canonical()
	s.DeviceSpec = s.DeviceSpec.canonical()
	s.SecretSpec = s.SecretSpec.canonical()
	s.ConfigSpec = s.ConfigSpec.canonical()
	s.ImageSpec = s.ImageSpec.canonical()
	s.InitSpec = s.InitSpec.canonical()
	s.HealthSpec = s.HealthSpec.canonical()
	s.RestartSpec = s.RestartSpec.canonical()
	s.DisconnectSpec = s.DisconnectSpec.canonical()
	s.SidecarSpec = s.SidecarSpec.canonical()
	s.UpdateSpec = s.UpdateSpec.canonical()
	s.TopologySpec = s.TopologySpec.canonical()
	s.SnapshotSpec = s.SnapshotSpec.canonical()
	return s.inMode()
}

// Hash is a short digest of the spec with its defaults: equal for specs that mean the same.
func (s Spec) Hash() string {
	body, err := json.Marshal(s.withDefaults(), json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("a spec of plain fields does not encode: %v", err))
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:8])
}

// Newest returns the level with which the newest of the spec's fields came, and that field. Programs that do not work at the level would not do
// what the field says.
func (s Spec) Newest() (Level, string) {
	if s.DrainSpec.canonical().DrainDelay != nil {
		return LevelDrainDelay, "drain_delay"
	}
	return 0, ""
}

// Positional reports whether it matters which ordinals instances have: to their volumes, to what they learn of each other, or to where they
// are.
func (s Spec) Positional() bool {
	return s.Topology != nil || s.KeepsVolumes() || s.Templated() || s.Global() || s.IsJob()
}

// check returns a *Rejection that names the first field that breaks a rule.
func (s Spec) check() error {
	if s.Image == "" {
		return Reject(CodeMissingField, "image", "image is missing: name a container image, as in localhost/web:1")
	}
	if err := checkProgram(s.Image, s.Command, s.Args, s.Env); err != nil {
		return err
	}
	if err := checkPorts(s.Ports); err != nil {
		return err
	}
	if err := checkLabels(s.Labels); err != nil {
		return err
	}
	if err := checkResources(s.Resources, s.Requests); err != nil {
		return err
	}
	if err := s.Placement.check(); err != nil {
		return err
	}
	if s.StopGrace < 0 || s.StopGrace > MaxStopGrace {
		return Reject(CodeOutOfRange, "stop_grace", "stop_grace %s is not between 0s and %s",
			time.Duration(s.StopGrace), time.Duration(MaxStopGrace))
	}
	if err := s.checkGroups(); err != nil {
		return err
	}
	return s.checkTemplates()
}

func (s Spec) checkGroups() error {
	for _, err := range []error{
		s.DrainSpec.check(), s.ProcessSpec.check(), s.NetworkSpec.check(s.Ports), s.VolumeSpec.check(), s.ScratchSpec.check(s.Volumes), s.DeviceSpec.check(), s.SecretSpec.check(s.Env),
		s.ConfigSpec.check(s.Secrets, s.Volumes), s.ImageSpec.check(), s.InitSpec.check(),
		s.HealthSpec.check(s.Ports), s.RestartSpec.check(), s.DisconnectSpec.check(), s.SidecarSpec.check(), s.checkMode(), s.UpdateSpec.check(),
		s.TopologySpec.check(s.Mode, s.Ports, s.mountedIn), s.checkSnapshot(), s.ExclusiveSpec.check(s.Mode, s.Disconnects()),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkList(field string, list []string) error {
	if len(list) > MaxArguments {
		return Reject(CodeOutOfRange, field, "%s has %d entries, more than %d", field, len(list), MaxArguments)
	}
	for i, text := range list {
		if err := checkText(fmt.Sprintf("%s[%d]", field, i), text); err != nil {
			return err
		}
	}
	return nil
}

func checkText(field, text string) error {
	if len(text) > MaxText {
		return Reject(CodeOutOfRange, field, "%s has %d bytes, more than %d", field, len(text), MaxText)
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return Reject(CodeInvalidValue, field, "%s has a NUL byte at %d", field, i)
	}
	return nil
}

func checkEnv(env map[string]string) error {
	if len(env) > MaxVariables {
		return Reject(CodeOutOfRange, "env", "env has %d variables, more than %d", len(env), MaxVariables)
	}
	for _, name := range sortedKeys(env) {
		field := "env." + printable(name)
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return Reject(CodeInvalidName, field, "env has a variable named %s: a name is not empty and has no \"=\"", quote(name))
		}
		if err := checkText(field, env[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkPorts(ports []Port) error {
	if len(ports) > MaxPorts {
		return Reject(CodeOutOfRange, "ports", "ports has %d entries, more than %d", len(ports), MaxPorts)
	}
	for i, p := range ports {
		field := fmt.Sprintf("ports[%d]", i)
		if err := checkName(field+".name", p.Name); err != nil {
			return err
		}
		if p.Port == 0 {
			return Reject(CodeOutOfRange, field+".port", "%s.port must be 1 to 65535", field)
		}
		if p.Protocol != "" && p.Protocol != TCP && p.Protocol != UDP {
			return Reject(CodeInvalidValue, field+".protocol", "%s.protocol %s is neither tcp nor udp", field, quote(string(p.Protocol)))
		}
		if j := slices.IndexFunc(ports[:i], func(o Port) bool { return p.HostPort > 0 && o.OnHost() == p.OnHost() }); j >= 0 {
			return Reject(CodeInvalidValue, field+".host_port", "%s and ports[%d] have one host_port, %d/%s", field, j, p.HostPort, p.OnHost().Protocol)
		}
		if j := slices.IndexFunc(ports[:i], func(o Port) bool { return o.Name == p.Name }); j >= 0 {
			return Reject(CodeInvalidValue, field+".name", "%s and ports[%d] have one name, %q", field, j, p.Name)
		}
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return Reject(CodeOutOfRange, "labels", "labels has %d entries, more than %d", len(labels), MaxLabels)
	}
	for _, name := range sortedKeys(labels) {
		field := "labels." + printable(name)
		if name == "" || strings.HasPrefix(name, ReservedLabel) {
			return Reject(CodeInvalidName, field, "label %s is not allowed: %s… is Rookery's own", quote(name), ReservedLabel)
		}
		if strings.ContainsFunc(name, unicode.IsControl) {
			return Reject(CodeInvalidName, field, "label %s has control characters in its name", quote(name))
		}
		if err := checkText(field, labels[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkScale(scale int64) error {
	if scale < 0 || scale > MaxScale {
		return Reject(CodeOutOfRange, "scale", "scale %d is not between 0 and %d", scale, MaxScale)
	}
	return nil
}

func printable(s string) string {
	shown := quote(s)
	return shown[1:strings.LastIndexByte(shown, '"')]
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
