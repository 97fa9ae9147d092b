package compose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// network maps ports, hosts and the network mode.
func (o *one) network() {
	switch mode := o.NetworkMode; mode {
	case "", "bridge", "default":
	case "none", "host":
		o.is.Network = events.NetworkMode(mode)
	default:
		o.refuse("network_mode", mode, "want bridge, host or none: containers that share a network are sidecars, x-rookery: {sidecars: [...]}")
	}
	o.is.Hostname = o.Hostname
	o.ports()
	o.exposed()
	for _, name := range slices.Sorted(maps.Keys(o.ExtraHosts)) {
		for _, address := range o.ExtraHosts[name] {
			if address == "host-gateway" {
				o.refuse("extra_hosts", name+":"+address, "instances have no host name for their node: give the node's IP address")
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
			o.refuse(key+".name", p.Name, "the name of a port has a-z, 0-9 and \"-\" only: name it %s", label(p.Name))
			made.Name = portName(made)
		}
		if p.HostIP != "" && p.HostIP != "0.0.0.0" && p.HostIP != "::" {
			o.refuse(key+".host_ip", p.HostIP, "Rookery publishes ports on the node's address (rookery node --address): leave it out")
			continue
		}
		if p.Published != "" {
			published, err := strconv.ParseUint(p.Published, 10, 16)
			if err != nil {
				o.refuse(key+".published", p.Published, "Rookery publishes a port under one number: give one number, or none to let the "+
					"coordinator pick")
				continue
			}
			made.HostPort = uint16(published)
			if n := o.instances(); made.HostPort > 0 && n != 1 {
				o.warn(key+".published", p.Published, "each instance takes this port on its node, so a node runs only one; no address "+
					"stands for all instances")
			}
		}
		o.addPort(key, made)
		if p.Target < privileged && len(o.CapAdd)+len(o.CapDrop) == 0 && len(o.Sysctls) == 0 {
			o.warn(key, nil, "a process may take a port below %d only with a capability, and has none without cap_add: write cap_add: "+
				"[NET_BIND_SERVICE]", privileged)
		}
	}
}

// privileged is the first port that any process may take.
const privileged = 1024

// portName returns a name for a port without one.
func portName(p events.Port) string {
	if p.Protocol == events.UDP {
		return fmt.Sprintf("port-%d-udp", p.Port)
	}
	return fmt.Sprintf("port-%d", p.Port)
}

func (o *one) addPort(key string, p events.Port) {
	if slices.ContainsFunc(o.is.Ports, func(other events.Port) bool { return other.Name == p.Name }) {
		o.refuse(key, nil, "the service already has a port %s: give this one another name", p.Name)
		return
	}
	o.is.Ports = append(o.is.Ports, p)
}

// exposed publishes the ports in expose, because services share no network.
func (o *one) exposed() {
	for i, text := range o.Expose {
		key := fmt.Sprintf("expose[%d]", i)
		number, protocol, _ := strings.Cut(text, "/")
		port, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			o.refuse(key, text, "each port needs a name: write a line for each")
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
		o.warn(key, text, "services share no network: Rookery publishes it on the node, under a port that the coordinator picks")
		o.addPort(key, p)
	}
}
