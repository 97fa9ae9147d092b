package events

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits on an instance's network.
const (
	MaxExtraHosts = 256
	MaxSysctls    = 64
	maxHostname   = 253 // a DNS name
)

// NetworkSpec says how an instance is reached and what it sees of the network.
type NetworkSpec struct {
	// Network is bridge (a network of the instance's own, whose ports are published on the node), none, or host. Default: bridge. A node
	// refuses host unless its configuration allows it.
	Network NetworkMode `json:"network,omitempty"`
	// Hostname is the instance's name for itself. Default: Podman's choice.
	Hostname string `json:"hostname,omitempty"`
	// ExtraHosts are added to /etc/hosts.
	ExtraHosts []ExtraHost `json:"extra_hosts,omitempty"`
	// Sysctls set the kernel's parameters that a container has for itself, as in net.core.somaxconn.
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// NetworkMode is what network an instance is on.
type NetworkMode string

// The networks of an instance.
const (
	NetworkBridge NetworkMode = "bridge" // one of its own, ports published on the node
	NetworkNone   NetworkMode = "none"   // none but its own loopback
	NetworkHost   NetworkMode = "host"   // the node's
)

// ExtraHost is a line of /etc/hosts.
type ExtraHost struct {
	Name string `json:"name"`
	// Address is an IP address.
	Address string `json:"address"`
}

// canonical leaves out what is given as its default, so that specs from before these fields keep their hashes.
func (s NetworkSpec) canonical() NetworkSpec {
	if s.Network == NetworkBridge {
		s.Network = ""
	}
	s.ExtraHosts = orNil(s.ExtraHosts)
	return s
}

// NetworkMode returns the network with its default.
func (s NetworkSpec) NetworkMode() NetworkMode {
	if s.Network == "" {
		return NetworkBridge
	}
	return s.Network
}

func (s NetworkSpec) check(ports []Port) error {
	modes := []NetworkMode{NetworkBridge, NetworkNone, NetworkHost}
	if !slices.Contains(modes, s.NetworkMode()) {
		return Reject(CodeInvalidValue, "network", "network %s is not known: known are %s", quote(string(s.Network)), listed(modes))
	}
	if s.NetworkMode() != NetworkBridge && len(ports) > 0 {
		return Reject(CodeInvalidValue, "network", "ports are published from a network of the instance's own, and network is %s: leave out ports or network", s.Network)
	}
	if s.Hostname != "" && !validHostname(s.Hostname) {
		return Reject(CodeInvalidName, "hostname", "hostname %s is not a host name: use labels of a-z, A-Z, 0-9 and \"-\" with dots between", quote(s.Hostname))
	}
	if err := checkExtraHosts(s.ExtraHosts); err != nil {
		return err
	}
	return s.checkSysctls()
}

// validHostname reports whether the name is one of DNS, in any case.
func validHostname(name string) bool {
	if len(name) > maxHostname {
		return false
	}
	for label := range strings.SplitSeq(strings.ToLower(name), ".") {
		if !ValidName(label) {
			return false
		}
	}
	return true
}

func checkExtraHosts(hosts []ExtraHost) error {
	if len(hosts) > MaxExtraHosts {
		return Reject(CodeOutOfRange, "extra_hosts", "extra_hosts has %d entries, more than %d", len(hosts), MaxExtraHosts)
	}
	for i, h := range hosts {
		field := fmt.Sprintf("extra_hosts[%d]", i)
		if !validHostname(h.Name) {
			return Reject(CodeInvalidName, field+".name", "%s.name %s is not a host name", field, quote(h.Name))
		}
		if !validAddress(h.Address) {
			return Reject(CodeInvalidValue, field+".address", "%s.address %s is not an IP address: write it as 10.0.0.7 or fd00::7", field, quote(h.Address))
		}
	}
	return nil
}

// namespaced are the beginnings of the kernel's parameters that a container has for itself. All others are the host's.
var namespaced = []string{"net.", "kernel.msg", "kernel.sem", "kernel.shm", "fs.mqueue."}

func (s NetworkSpec) checkSysctls() error {
	if len(s.Sysctls) > MaxSysctls {
		return Reject(CodeOutOfRange, "sysctls", "sysctls has %d entries, more than %d", len(s.Sysctls), MaxSysctls)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sysctls)) {
		field := "sysctls." + printable(name)
		if err := checkWord(field, name); err != nil {
			return err
		}
		if err := checkText(field, s.Sysctls[name]); err != nil {
			return err
		}
		if !slices.ContainsFunc(namespaced, func(own string) bool { return strings.HasPrefix(name, own) }) {
			return Reject(CodeInvalidName, field, "sysctl %s is the host's own: a container has only those that begin with %s", quote(name), listed(namespaced))
		}
		if s.NetworkMode() == NetworkHost && strings.HasPrefix(name, "net.") {
			return Reject(CodeInvalidValue, field, "sysctl %s belongs to the network, which is the node's own with network host: leave out one of them", quote(name))
		}
	}
	return nil
}
