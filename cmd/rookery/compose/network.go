package compose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// network says how instances are reached, and what they see of the network.
func (o *one) network() {
	switch mode := o.NetworkMode; mode {
	case "", "bridge", "default":
	case "none", "host":
		o.is.Network = events.NetworkMode(mode)
	default:
		o.refuse("network_mode", mode, "an instance has a network of its own, the node's (host) or none: what shares a network is a sidecar, x-rookery: {sidecars: [...]}")
	}
	o.is.Hostname = o.Hostname
	o.ports()
	o.exposed()
	for _, name := range slices.Sorted(maps.Keys(o.ExtraHosts)) {
		for _, address := range o.ExtraHosts[name] {
			if address == "host-gateway" {
				o.refuse("extra_hosts", name+":"+address, "an instance has no name for its node: give the node's IP address")
				continue
			}
			o.is.ExtraHosts = append(o.is.ExtraHosts, events.ExtraHost{Name: name, Address: address})
		}
	}
	if len(o.Sysctls) > 0 {
		o.is.Sysctls = maps.Clone(map[string]string(o.Sysctls))
	}
}

func (o *one) ports() {
	for i, p := range o.Ports {
		key := fmt.Sprintf("ports[%d]", i)
		made := events.Port{Name: p.Name, Port: uint16(p.Target), Protocol: events.Protocol(p.Protocol)}
		if made.Name == "" {
			made.Name = portName(made)
		}
		if !events.ValidName(made.Name) {
			o.refuse(key+".name", p.Name, "a port is named with a-z, 0-9 and \"-\": name it %s", label(p.Name))
			made.Name = portName(made)
		}
		if p.HostIP != "" && p.HostIP != "0.0.0.0" && p.HostIP != "::" {
			o.refuse(key+".host_ip", p.HostIP, "a port is published on the node's own address (rookery node --address): leave it out")
			continue
		}
		if p.Published != "" {
			published, err := strconv.ParseUint(p.Published, 10, 16)
			if err != nil {
				o.refuse(key+".published", p.Published, "a port is published under one number, or under one that the coordinator picks where none is given: give one, or none")
				continue
			}
			made.HostPort = uint16(published)
			if n := o.instances(); made.HostPort > 0 && n != 1 {
				o.warn(key+".published", p.Published, "each instance takes it on its own node, so that no two are on one; there is no address that stands for all")
			}
		}
		o.addPort(key, made)
		if p.Target < privileged && len(o.CapAdd)+len(o.CapDrop) == 0 && len(o.Sysctls) == 0 {
			o.warn(key, nil, "a process may take a port below %d with a capability alone, and has none where the file names none: say cap_add: [NET_BIND_SERVICE]", privileged)
		}
	}
}

// privileged is the first port that any process may take.
const privileged = 1024

// portName is the name of a port that has none.
func portName(p events.Port) string {
	if p.Protocol == events.UDP {
		return fmt.Sprintf("port-%d-udp", p.Port)
	}
	return fmt.Sprintf("port-%d", p.Port)
}

func (o *one) addPort(key string, p events.Port) {
	if slices.ContainsFunc(o.is.Ports, func(other events.Port) bool { return other.Name == p.Name }) {
		o.refuse(key, nil, "the service has a port %s already: give this one another name", p.Name)
		return
	}
	o.is.Ports = append(o.is.Ports, p)
}

// exposed publishes what others are to reach, for there is no network that they share.
func (o *one) exposed() {
	for i, text := range o.Expose {
		key := fmt.Sprintf("expose[%d]", i)
		number, protocol, _ := strings.Cut(text, "/")
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			o.refuse(key, text, "each port is named: write a line for each")
			continue
		}
		p := events.Port{Port: uint16(port), Protocol: events.Protocol(protocol)}
		same := func(other events.Port) bool {
			return other.Port == p.Port && (other.Protocol == events.UDP) == (p.Protocol == events.UDP)
		}
		if slices.ContainsFunc(o.is.Ports, same) {
			continue
		}
		p.Name = portName(p)
		o.warn(key, text, "services share no network: it is published on the node, under a port that the coordinator picks")
		o.addPort(key, p)
	}
}
