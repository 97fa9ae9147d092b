package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// maxPast is how many earlier incarnations of a node are remembered, so that a late hello of one is known as such.
const maxPast = 8

// Node is a host with a Podman socket.
type Node struct {
	// What placement asks of every node stands together, so that it is read at once: what is set aside, what there is by
	// the facts, the instances, and the ports of the range, all and those that instances hold.
	reserved    events.Resources
	allocatable events.Resources
	instances   int
	offered     int32
	picked      int32

	Name        string
	Epoch       uint64
	Incarnation string
	// Past are the last incarnations before this one, oldest first.
	Past  []string
	Facts events.NodeFacts
	// Told are the facts as its process told them, and Overrides what people put in the place of some.
	Told      events.NodeFacts
	Overrides events.Overrides
	// MachineSince is the first node epoch since which the node is the same machine; 0 where machines are not told apart.
	MachineSince uint64 `json:",omitzero"`
	// Silent says that the node was not heard for longer than it may, since SilentSince.
	Silent      bool
	SilentSince time.Time
	// Lost says that it was silent for longer than the cluster waits, and still is.
	Lost bool `json:",omitzero"`
	// Degraded says why the node's engine cannot be relied on, "" where it can, and EngineCounter is that of its last word on it
	// in this node epoch that the log has.
	Degraded      string `json:",omitempty"`
	EngineCounter uint64 `json:",omitzero"`
	// Paused says that nothing is placed on the node.
	Paused bool
	// Drain says how far the node is whose instances go elsewhere; nil where it keeps them.
	Drain *Drain `json:",omitzero"`
	// Forgotten says that the node is gone for good: it goes from the state with the last of what it had.
	Forgotten bool `json:",omitzero"`
	// Holder is the command that drains or forgets the node and has not ended, or 0.
	Holder uint64 `json:",omitzero"`
	// NotAllowed says that the node is not on the cluster's list, where there is one.
	NotAllowed bool
	// Unlisted says that the node shall list all that it has.
	Unlisted bool
	// Orders counts the orders that the log has decided for the node.
	Orders uint64
	// LastPort is the port that was picked last: the next search begins behind it.
	LastPort uint16
	// Strays are the instances that it has and should not have.
	Strays map[events.InstanceID]*Stray

	ports map[events.HostPort]events.InstanceID
	// lost counts the instances that are lost with it.
	lost int
	// turned is the event that last had an instance take another share than before.
	turned uint64
}

// Stray is an instance that a node has and should not have.
type Stray struct {
	Decided uint64
	Counter uint64
	// Why says in what the node's word contradicts the log.
	Why events.StrayReason `json:",omitempty"`
}

// Instances counts the instances that the node has or shall have.
func (n *Node) Instances() int { return n.instances }

// Reserved is what is set aside on the node for its instances.
func (n *Node) Reserved() events.Resources { return n.reserved }

// Allocatable is what instances may have of the node together.
func (n *Node) Allocatable() events.Resources { return n.allocatable }

// Heard reports whether the node has joined and is not silent.
func (n *Node) Heard() bool { return n.Epoch > 0 && !n.Silent }

// Open reports whether the node is heard and people let instances be there.
func (n *Node) Open() bool { return n.Heard() && !n.Paused && !n.NotAllowed }

// Ready reports whether instances may be placed on the node.
func (n *Node) Ready() bool {
	return n.Open() && n.Degraded == "" && n.Drain == nil && !n.Forgotten
}

// HoldsPort reports whether an instance holds this port of the node.
func (n *Node) HoldsPort(port events.HostPort) bool {
	_, held := n.ports[port]
	return held
}

// holdsNumber reports whether an instance holds a port of this number, of whichever protocol.
func (n *Node) holdsNumber(number uint16) bool {
	return n.HoldsPort(events.HostPort{Number: number, Protocol: events.TCP}) || n.HoldsPort(events.HostPort{Number: number, Protocol: events.UDP})
}

// Was reports whether an earlier process of this name was the node, as far as is remembered.
func (n *Node) Was(incarnation string) bool { return slices.Contains(n.Past, incarnation) }

// HasPorts reports whether FreePorts finds count ports, and costs nothing.
func (n *Node) HasPorts(count int) bool {
	return int(n.offered-n.picked) >= count
}

// FreePorts returns count ports of the node's range that no instance holds, beginning behind the last one picked, or
// nil where there are not as many.
func (n *Node) FreePorts(count int) []uint16 {
	first, last := n.Facts.Ports.First, n.Facts.Ports.Last
	if !n.HasPorts(count) {
		return nil
	}
	size := int(last) - int(first) + 1
	free := make([]uint16, 0, count)
	next := n.LastPort
	for range size {
		if len(free) == count {
			break
		}
		if next < first || next >= last {
			next = first
		} else {
			next++
		}
		if !n.holdsNumber(next) {
			free = append(free, next)
		}
	}
	if len(free) < count {
		return nil
	}
	return free
}

func (n *Node) hold(i *Instance) {
	n.instances++
	n.reserved = n.reserved.Plus(i.Takes())
	for _, p := range i.Ports {
		if !n.holdsNumber(p.HostPort) && n.Facts.Ports.Holds(p.HostPort) {
			n.picked++
		}
		n.ports[p.OnHost()] = i.ID
		if n.Facts.Ports.Holds(p.HostPort) {
			n.LastPort = p.HostPort
		}
	}
}

func (n *Node) release(i *Instance) {
	n.instances--
	n.reserved = n.reserved.Minus(i.Takes())
	for _, p := range i.Ports {
		if n.ports[p.OnHost()] != i.ID {
			continue
		}
		delete(n.ports, p.OnHost())
		if !n.holdsNumber(p.HostPort) && n.Facts.Ports.Holds(p.HostPort) {
			n.picked--
		}
	}
}

// takesNow has the node set aside what an instance takes since an event that took something else before.
func (n *Node) takesNow(i *Instance, before events.Resources, sequence uint64) {
	if takes := i.Takes(); takes != before {
		n.reserved, n.turned = n.reserved.Plus(takes).Minus(before), sequence
	}
}

// TurnedAt reports whether the event with this sequence had one of its instances take another share than before: one that has ended
// for good takes none.
func (n *Node) TurnedAt(sequence uint64) bool { return n.turned == sequence }

func (n *Node) rejoin(j events.NodeJoined) {
	if n.Incarnation != "" {
		n.Past = append(n.Past, n.Incarnation)
		n.Past = n.Past[max(0, len(n.Past)-maxPast):]
	}
	if n.Told.Machine != j.Machine {
		n.MachineSince = j.Epoch
	}
	n.Epoch, n.Incarnation, n.Told = j.Epoch, j.Incarnation, j.NodeFacts
	n.back()
	n.Degraded, n.EngineCounter = "", 0
	n.know()
	n.picked = 0
	for port := range n.ports {
		if n.Facts.Ports.Holds(port.Number) && (port.Protocol == events.TCP || !n.HoldsPort(events.HostPort{Number: port.Number, Protocol: events.TCP})) {
			n.picked++
		}
	}
}

// know has the facts follow from what was told and what people put in its place.
func (n *Node) know() {
	n.Facts = n.Overrides.Of(n.Told)
	n.offer()
}

// offer has what follows from the facts follow. A node that has not joined offers nothing.
func (n *Node) offer() {
	n.allocatable, n.offered = n.Facts.Allocatable(), 0
	if n.Epoch > 0 {
		n.offered = int32(n.Facts.Ports.Last) - int32(n.Facts.Ports.First) + 1
	}
}
