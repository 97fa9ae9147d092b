package projections

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// maxPast is how many earlier incarnations of a node are remembered, so that a late hello of one is known as such.
const maxPast = 8

// Node is a host with a Podman socket.
type Node struct {
	Name        string
	Epoch       uint64
	Incarnation string
	// Past are the last incarnations before this one, oldest first.
	Past  []string
	Facts events.NodeFacts
	// Silent says that the node was not heard for longer than it may.
	Silent bool
	// Unlisted says that the node shall list all that it has.
	Unlisted bool
	// Orders counts the orders that the log has decided for the node.
	Orders uint64
	// LastPort is the port that was picked last: the next search begins behind it.
	LastPort uint16
	// Strays are the instances that it has and should not have.
	Strays map[events.InstanceID]*Stray

	instances int
	ports     map[uint16]events.InstanceID
}

// Stray is an instance that a node has and should not have.
type Stray struct {
	Decided uint64
	Counter uint64
}

// Instances counts the instances that the node has or shall have.
func (n *Node) Instances() int { return n.instances }

// Ready reports whether instances may be placed on the node.
func (n *Node) Ready() bool { return n.Epoch > 0 && !n.Silent }

// Was reports whether an earlier process of this name was the node, as far as is remembered.
func (n *Node) Was(incarnation string) bool { return slices.Contains(n.Past, incarnation) }

// HasPorts reports whether FreePorts finds count ports, and costs nothing.
func (n *Node) HasPorts(count int) bool {
	return int(n.Facts.Ports.Last)-int(n.Facts.Ports.First)+1-len(n.ports) >= count
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
		if _, taken := n.ports[next]; !taken {
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
	for _, p := range i.Ports {
		n.ports[p.HostPort] = i.ID
		n.LastPort = p.HostPort
	}
}

func (n *Node) release(i *Instance) {
	n.instances--
	for _, p := range i.Ports {
		if n.ports[p.HostPort] == i.ID {
			delete(n.ports, p.HostPort)
		}
	}
}

func (n *Node) rejoin(j events.NodeJoined) {
	if n.Incarnation != "" {
		n.Past = append(n.Past, n.Incarnation)
		n.Past = n.Past[max(0, len(n.Past)-maxPast):]
	}
	n.Epoch, n.Incarnation, n.Facts, n.Silent = j.Epoch, j.Incarnation, j.NodeFacts, false
}
