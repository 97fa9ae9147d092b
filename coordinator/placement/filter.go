package placement

import (
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// filter is a rule that removes nodes. The constants are in the order of events.Removed.
type filter int8

const (
	none filter = iota
	silent
	degraded
	paused
	drained
	notAllowed
	nodeSelector
	zone
	allowHostPort
	allowEngineContext
	antiAffinity
	maxPerNode
	hostPort
	ports
	cpu
	memory
	disk
	filters
)

// fixed reports whether the filter depends on the node itself, and not on what runs there.
func (f filter) fixed() bool { return f >= silent && f <= allowEngineContext }

// tally counts nodes by the filter that removes them; nodes under none are candidates.
type tally [filters]uint32

// removed returns the counts, with those of nodes in zones that are too far ahead.
func (t *tally) removed(spread uint32) events.Removed {
	return events.Removed{
		Silent: t[silent], Degraded: t[degraded], Paused: t[paused], Drained: t[drained], NotAllowed: t[notAllowed],
		NodeSelector: t[nodeSelector], Zone: t[zone], AllowHostPort: t[allowHostPort], AllowEngineContext: t[allowEngineContext],
		AntiAffinity: t[antiAffinity], MaxPerNode: t[maxPerNode], HostPort: t[hostPort], Ports: t[ports],
		CPU: t[cpu], Memory: t[memory], Disk: t[disk], Spread: spread,
	}
}

// load is what counts against a node for one service, beside what the node itself knows.
type load struct {
	own   int32 // instances of the service that must run there
	apart int32 // instances that the spec must not run beside
}

// meets returns the first filter that removes the node, or none. It counts the credit as already given back.
func (d *demand) meets(n *projections.Node, l load, credit credit) filter {
	switch {
	case !n.Live():
		return silent
	case n.Degraded != "":
		return degraded
	case n.Paused:
		return paused
	case n.Drain != nil:
		return drained
	case n.NotAllowed:
		return notAllowed
	case len(d.spec.NodeSelector) > 0 && !hasLabels(n.Facts.Labels, d.spec.NodeSelector):
		return nodeSelector
	case !d.policy.ZoneAffinity.Soft && !d.wantsZone(n.Facts.Zone):
		return zone
	case slices.ContainsFunc(d.fixed, func(p events.HostPort) bool { return !n.Facts.OffersPort(p.Number) }):
		return allowHostPort
	case d.policy.SecurityContext == events.SecurityEngine && !n.Facts.Allows.EngineContext:
		return allowEngineContext
	case !d.policy.AntiAffinity.Soft && l.apart > 0:
		return antiAffinity
	case d.spec.MaxPerNode > 0 && l.own >= int32(min(d.spec.MaxPerNode, events.MaxScale)):
		return maxPerNode
	case slices.ContainsFunc(d.fixed, func(p events.HostPort) bool { return n.HoldsPort(p) && !slices.Contains(credit.ports, p) }):
		return hostPort
	case !n.HasPorts(d.ports - len(credit.ports)):
		return ports
	}
	return d.fits(n, n.Reserved().Minus(credit.reserved))
}

// fits returns the first resource of which the node has too little beside what is taken, or none.
func (d *demand) fits(n *projections.Node, taken events.Resources) filter {
	has, asks := n.Allocatable(), d.asks(n)
	switch {
	case n.Facts.Capacity.CPU > 0 && asks.CPU > 0 && taken.CPU+asks.CPU > has.CPU:
		return cpu
	case n.Facts.Capacity.Memory > 0 && asks.Memory > 0 && taken.Memory+asks.Memory > has.Memory:
		return memory
	case n.Facts.Capacity.Disk > 0 && asks.Disk > 0 && taken.Disk+asks.Disk > has.Disk:
		return disk
	}
	return none
}

func (d *demand) wantsZone(name string) bool {
	return len(d.spec.Zones) == 0 || slices.Contains(d.spec.Zones, name)
}

func hasLabels(has, wants map[string]string) bool {
	for name, value := range wants {
		if got, there := has[name]; !there || got != value {
			return false
		}
	}
	return true
}

// credit is what an instance gives back to its node when it stops.
type credit struct {
	ports    []events.HostPort
	reserved events.Resources
}

func creditOf(i *projections.Instance) credit {
	c := credit{reserved: i.Takes()}
	for _, p := range i.Ports {
		c.ports = append(c.ports, p.OnHost())
	}
	return c
}
