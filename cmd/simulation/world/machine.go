package world

import "github.com/rookery-project/rookery/events"

// machine is what the log says of a node.
type machine struct {
	epoch  uint64
	silent bool
	offers events.PortRange
	paused bool
	facts  events.NodeFacts
	held   map[uint16]events.InstanceID
	strays map[events.InstanceID]bool
}

func (k *knowledge) machine(name string) *machine {
	m := k.nodes[name]
	if m == nil {
		m = &machine{held: map[uint16]events.InstanceID{}, strays: map[events.InstanceID]bool{}}
		k.nodes[name] = m
	}
	return m
}

func (k *knowledge) node(j *judge, name string, d events.Data) {
	n := k.machine(name)
	switch d := d.(type) {
	case events.NodeJoined:
		if d.Epoch != n.epoch+1 {
			j.breach("nodes", "%s joins in epoch %d after epoch %d", name, d.Epoch, n.epoch)
		}
		n.epoch, n.silent, n.offers, n.facts = d.Epoch, false, d.Ports, d.NodeFacts
	case events.NodeSilent:
		if n.silent {
			j.breach("nodes", "%s is silent a second time", name)
		}
		n.silent = true
	case events.NodePaused:
		n.paused = true
	case events.NodeResumed:
		n.paused = false
	case events.NodeReturned:
		if !n.silent {
			j.breach("nodes", "%s returned, and was not silent", name)
		}
		n.silent = false
	case events.StrayFound:
		n.strays[d.ID()] = true
	case events.StrayRemoved:
		delete(n.strays, d.ID())
	}
}
