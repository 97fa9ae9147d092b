package world

import (
	"maps"
	"time"

	"github.com/rookery-project/rookery/events"
)

// machine is what the log says of a node.
type machine struct {
	epoch  uint64
	silent bool
	since  time.Time // it is silent
	// heardAgain is when it last joined or returned.
	heardAgain time.Time
	// lost says that it was for long, and unlisted that it is to list what it has since.
	lost, unlisted bool
	offers         events.PortRange
	paused         bool
	// drain says that it is to have nothing, nil where it may; forgotten that it is gone for good.
	drain     *draining
	forgotten bool
	// degraded says that its engine does not answer, and word is the counter of what it said of that last in its epoch.
	degraded bool
	word     uint64
	// told is what the node says of itself, facts the same with what people say in its place.
	told, facts events.NodeFacts
	people      events.NodeUpdated
	held        map[uint16]events.InstanceID
	strays      map[events.InstanceID]bool
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
	k.leaving(j, name, d)
	switch d := d.(type) {
	case events.NodeJoined:
		before := n.epoch
		if before == 0 {
			before = k.floor
		}
		if d.Epoch != before+1 || n.forgotten {
			j.breach("nodes", "%s joins in epoch %d after epoch %d, forgotten: %t", name, d.Epoch, before, n.forgotten)
		}
		n.epoch, n.offers, n.told, n.degraded, n.word = d.Epoch, d.Ports, d.NodeFacts, false, 0
		k.heard(name)
		n.believe()
	case events.NodeUpdated:
		n.people = d
		n.believe()
	case events.NodeMisfits:
		k.misfits(j, name, d)
	case events.NodeSilent:
		if n.silent {
			j.breach("nodes", "%s is silent a second time", name)
		}
		n.silent, n.since = true, j.at
	case events.NodeDegraded:
		n.answers(j, name, false, d.Epoch, d.Counter)
	case events.NodeRecovered:
		n.answers(j, name, true, d.Epoch, d.Counter)
	case events.NodePaused:
		n.paused = true
	case events.NodeResumed:
		n.paused, n.drain = false, nil
	case events.NodeReturned:
		if !n.silent {
			j.breach("nodes", "%s returned, and was not silent", name)
		}
		k.heard(name)
	case events.NodeLost:
		k.gone(j, name)
	case events.NodeListed:
		n.unlisted = false
	case events.StrayFound:
		n.strays[d.ID()] = true
	case events.StrayRemoved:
		delete(n.strays, d.ID())
	}
}

// believe takes people's word of the node before its own.
func (m *machine) believe() {
	m.facts = m.told
	m.facts.Labels = map[string]string{}
	maps.Copy(m.facts.Labels, m.told.Labels)
	maps.Copy(m.facts.Labels, m.people.Labels)
	for _, name := range m.people.Without {
		delete(m.facts.Labels, name)
	}
	if c := m.people.Capacity; c.Memory > 0 {
		m.facts.Capacity.Memory = uint64(c.Memory)
	}
}

// misfits holds what is said to be placed wrongly on a node to be so, and to be all.
func (k *knowledge) misfits(j *judge, node string, d events.NodeMisfits) {
	count := uint32(0)
	for _, i := range k.present {
		s := k.services[i.id.Service]
		if i.node == node && i.runs() && !s.dropped && !s.specs[s.revision].Global() && k.excluded(s.specs[i.revision], k.nodes[node]) != "" {
			count++
		}
	}
	if d.Total != count || (count == 0 && d.Over == events.Resources{}) {
		j.breach("nodes", "%s is said to have %d misfits, over by %v, and has %d", node, d.Total, d.Over, count)
	}
}
