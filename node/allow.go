package node

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// Allowance lists what a node lets services use of its host beyond what is safe. The zero value allows none of it.
type Allowance struct {
	// HostPaths are absolute paths: these and all below them may be mounted.
	HostPaths []string
	// HostNetwork lets services use the node's own network.
	HostNetwork bool
	// Capabilities may be added beyond Podman's own defaults, as in CAP_SYS_PTRACE.
	Capabilities []string
	// Devices are absolute paths of devices that may be used.
	Devices []string
	// HostPorts are those that a spec may name: the node's own range and what it allows beyond.
	HostPorts []events.PortRange
	// EngineContext lets containers run in the security context engine.
	EngineContext bool
}

// Announced returns the allowance with the parts of it that the node has announced to the coordinator.
func (a Allowance) Announced(f events.NodeFacts) Allowance {
	a.HostPorts = append([]events.PortRange{f.Ports}, f.Allows.HostPorts...)
	a.EngineContext = f.Allows.EngineContext
	return a
}

// harmless are the capabilities that Podman gives by default: none of them leads out of a container.
var harmless = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_NET_BIND_SERVICE", "CAP_SETFCAP",
	"CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// Capabilities returns those of the planned container: the ones in its spec, or else the ones of its security context.
func (p Plan) Capabilities() []string {
	if len(p.Order.Spec.Capabilities) == 0 && p.Order.SecurityContext == events.SecurityEngine {
		return slices.Clone(harmless)
	}
	return p.Order.Spec.Capabilities
}

// Check returns a *Failure that names what the order wants and the node does not allow, or nil. The order must have a spec.
func (a Allowance) Check(order events.Order) error {
	spec := *order.Spec
	if order.SecurityContext == events.SecurityEngine && !a.EngineContext {
		return NotAllowed("the security context engine: start the node with --allow-engine-context to allow it")
	}
	for _, p := range spec.Ports {
		if holds := func(r events.PortRange) bool { return r.Holds(p.HostPort) }; p.HostPort > 0 && !slices.ContainsFunc(a.HostPorts, holds) {
			return NotAllowed(fmt.Sprintf("the host port %d: start the node with --allow-host-port %d to allow it", p.HostPort, p.HostPort))
		}
	}
	if spec.NetworkMode() == events.NetworkHost && !a.HostNetwork {
		return NotAllowed("network host: start the node with --allow-host-network to allow it")
	}
	for _, c := range spec.Capabilities {
		allowed := func(name string) bool { return events.CapabilityName(name) == c }
		if !slices.Contains(harmless, c) && !slices.ContainsFunc(a.Capabilities, allowed) {
			return NotAllowed("capability " + c + ": start the node with --allow-capability " + c + " to allow it")
		}
	}
	for _, d := range spec.Devices {
		allowed := func(name string) bool { return path.Clean(name) == d.Path }
		if !slices.ContainsFunc(a.Devices, allowed) {
			return NotAllowed("the device " + d.Path + ": start the node with --allow-device " + d.Path + " to allow it")
		}
	}
	return nil
}

// HostPath reports whether the path, which has no links in it, may be mounted.
func (a Allowance) HostPath(wanted string) bool {
	wanted = path.Clean(wanted)
	return slices.ContainsFunc(a.HostPaths, func(allowed string) bool {
		allowed = path.Clean(allowed)
		return wanted == allowed || strings.HasPrefix(wanted, strings.TrimSuffix(allowed, "/")+"/")
	})
}

// NotAllowed returns the failure of a service that wants what this node does not allow.
func NotAllowed(what string) error {
	return &Failure{Reason: events.OfflineNotAllowed, Message: "this node does not allow " + what}
}
