package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// maxPast is how many earlier incarnations of a node the state remembers. The coordinator recognizes a late hello of one by them.
const maxPast = 8

// Node is a host with a Podman socket.
type Node struct {
	// Placement reads these fields of every node, so they stand together in memory: the reserved and the
	// allocatable resources, the count of instances, and the ports of the range, all and those that instances hold.
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
	// Told are the facts that the node's process reports. Overrides are the values that operators set instead of some of them.
	Told      events.NodeFacts
	Overrides events.Overrides
	// MachineSince is the node epoch since which the node is on the same machine; 0 where the node does not report its machine.
	MachineSince uint64 `json:",omitzero"`
	// Silent says that the node sends no heartbeats, and has not since SilentSince.
	Silent      bool
	SilentSince time.Time
	// Lost says that the node has been silent for longer than the policy's lost_after.
	Lost bool `json:",omitzero"`
	// Revoked says that an operator has cut the node off. It stays silent until a node of its name is admitted with another key, and joins.
	Revoked bool `json:",omitzero"`
	// Degraded says why the node's engine is unreliable, or that its program does not work at the cluster's level, so that it does nothing; ""
	// where neither is so. EngineCounter is the counter of the node's last report
	// about its engine in this node epoch that the log has.
	Degraded      string `json:",omitempty"`
	EngineCounter uint64 `json:",omitzero"`
	// Paused says that the coordinator places nothing on the node.
	Paused bool
	// Drain is the progress of the node's drain; nil where the node keeps its instances.
	Drain *Drain `json:",omitzero"`
	// Forgotten says that the node is gone for good. It leaves the state together with its last instance.
	Forgotten bool `json:",omitzero"`
	// Holder is the command that drains or forgets the node and has not ended, or 0.
	Holder uint64 `json:",omitzero"`
	// NotAllowed says that the cluster has a list of allowed nodes, and the node is not on it.
	NotAllowed bool
	// Program is the Rookery that the node's process runs, as far as the log says.
	Program events.Program `json:",omitzero"`
	// Unlisted says that the node must still list all its instances.
	Unlisted bool
	// Orders counts the orders that the log has decided for the node.
	Orders uint64
	// LastPort is the port that was picked last: the next search begins after it.
	LastPort uint16
	// Orphans are the node's orphans: containers that no order names.
	Orphans map[events.InstanceID]*Orphan `json:"Strays"`

	ports map[events.HostPort]events.InstanceID
	// lost counts the node's lost instances.
	lost int
	// turned is the sequence of the event that last changed how much one of the node's instances reserves.
	turned uint64
}

// Orphan is one: a container of a node that no order names.
type Orphan struct {
	Decided uint64
	Counter uint64
	// Why says how the node's report contradicts the log.
	Why events.StrayReason `json:",omitempty"`
}

// Instances counts the instances that the node has or must start.
func (n *Node) Instances() int { return n.instances }

// Reserved returns the resources that are reserved on the node for its instances.
func (n *Node) Reserved() events.Resources { return n.reserved }

// Allocatable returns the resources of the node that all its instances may use together.
func (n *Node) Allocatable() events.Resources { return n.allocatable }

// Live reports whether the node has joined and sends heartbeats.
func (n *Node) Live() bool { return n.Epoch > 0 && !n.Silent }

// Open reports whether the node sends heartbeats and operators allow instances there.
func (n *Node) Open() bool { return n.Live() && !n.Paused && !n.NotAllowed }

// Ready reports whether instances may be placed on the node.
func (n *Node) Ready() bool {
	return n.Open() && n.Degraded == "" && n.Drain == nil && !n.Forgotten
}

// HoldsPort reports whether an instance holds this port of the node.
func (n *Node) HoldsPort(port events.HostPort) bool {
	_, held := n.ports[port]
	return held
}

// holdsNumber reports whether an instance holds a port of this number, of any protocol.
func (n *Node) holdsNumber(number uint16) bool {
	return n.HoldsPort(events.HostPort{Number: number, Protocol: events.TCP}) || n.HoldsPort(events.HostPort{Number: number, Protocol: events.UDP})
}

// Was reports whether the incarnation is one of the node's earlier ones, as far as Past goes back.
func (n *Node) Was(incarnation string) bool { return slices.Contains(n.Past, incarnation) }

// HasPorts reports whether FreePorts finds count ports. It does not search.
func (n *Node) HasPorts(count int) bool {
	return int(n.offered-n.picked) >= count
}

// FreePorts returns count ports of the node's range that no instance holds. It starts after the port that was picked last. It
// returns nil where fewer are free.
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

// takesNow updates the node's reserved resources after the event at sequence changed what an instance takes.
func (n *Node) takesNow(i *Instance, before events.Resources, sequence uint64) {
	if takes := i.Takes(); takes != before {
		n.reserved, n.turned = n.reserved.Plus(takes).Minus(before), sequence
	}
}

// TurnedAt reports whether the event with this sequence changed how much one of the node's instances reserves. An instance that has ended
// for good frees its CPU and memory.
func (n *Node) TurnedAt(sequence uint64) bool { return n.turned == sequence }

func (n *Node) rejoin(j events.NodeJoined) {
	switch n.Incarnation {
	case "":
	case j.Incarnation:
		n.Unlisted = true // the log may not have what this process has done
	default:
		n.Past = append(n.Past, n.Incarnation)
		n.Past = n.Past[max(0, len(n.Past)-maxPast):]
	}
	if n.Told.Machine != j.Machine {
		n.MachineSince = j.Epoch
	}
	n.Epoch, n.Incarnation, n.Told, n.Program = j.Epoch, j.Incarnation, j.NodeFacts, j.Program
	n.back()
	n.Revoked = false
	n.Degraded, n.EngineCounter = "", 0
	n.know()
	n.picked = 0
	for port := range n.ports {
		if n.Facts.Ports.Holds(port.Number) && (port.Protocol == events.TCP || !n.HoldsPort(events.HostPort{Number: port.Number, Protocol: events.TCP})) {
			n.picked++
		}
	}
}

// cutOff notes that the node's key was revoked: nothing more is heard of it.
func (n *Node) cutOff(now time.Time) {
	if !n.Silent {
		n.Silent, n.SilentSince = true, now
	}
	n.Revoked, n.Lost = true, true
}

// know computes the facts from the node's report and from the overrides of operators.
func (n *Node) know() {
	n.Facts = n.Overrides.Of(n.Told)
	n.offer()
}

// offer computes the allocatable resources and the ports from the facts. A node that has not joined offers no ports.
func (n *Node) offer() {
	n.allocatable, n.offered = n.Facts.Allocatable(), 0
	if n.Epoch > 0 {
		n.offered = int32(n.Facts.Ports.Last) - int32(n.Facts.Ports.First) + 1
	}
}
