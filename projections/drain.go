package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Drain is how far a node is whose instances go elsewhere.
type Drain struct {
	// Cause is that of its start, and Until when what is left stops.
	Cause events.Cause
	Until time.Time
	// Forced says that instances had to stop because of that.
	Forced bool `json:",omitzero"`
	// Done says that nothing is left.
	Done bool `json:",omitzero"`
}

// lasting are the commands to nodes that end later than they are accepted.
var lasting = []string{events.NodeDrain{}.Kind().Name, events.NodeForget{}.Kind().Name}

func lasts(verb string) bool { return slices.Contains(lasting, verb) }

// Draining reports whether the node is to have no instance.
func (n *Node) Draining() bool { return n.Drain != nil }

// evacuates reports whether the instance is to leave its node.
func (c *Cluster) evacuates(i *Instance) bool { return i != nil && c.node(i.Node).Draining() }

// drains follows an instance that is retired: a node is emptied by force, or a successor on another one has not come to serve.
func (c *Cluster) drains(s *Service, i *Instance, reason events.RetireReason, now time.Time) {
	if d := c.node(i.Node).Drain; d != nil && reason == events.RetireDrainForced {
		d.Forced = true
	}
	if slot := s.Slots[i.ID.Ordinal]; slot.Next == i && c.evacuates(slot.Current) {
		slot.aside(func(a *Aside) { a.Tries, a.TriedAt = a.Tries+1, now })
	}
}

// nextServes follows since when the successor of an instance serves.
func (s *Service) nextServes(i *Instance, now time.Time) {
	switch slot := s.Slots[i.ID.Ordinal]; {
	case slot.Next != i:
	case i.Seen.Phase != events.PhaseOnline:
		slot.aside(func(a *Aside) { a.NextServes = time.Time{} })
	case slot.Beside().NextServes.IsZero():
		slot.aside(func(a *Aside) { a.NextServes = now })
	}
}

// forgotten has an instance go that nobody saw go. What ran by itself until then is no failure of its service.
func (c *Cluster) forgotten(r events.Record, id events.InstanceID) {
	i := c.Instance(id)
	if i == nil {
		return
	}
	if s := c.Services[id.Service]; i.Retired() == "" {
		s.retire(i, events.RetireNodeForgotten, r.Time)
		s.noteJob(i, events.RetireNodeForgotten, r.Time)
	}
	c.removed(id)
}

// giveUp has nothing be expected of the node any more: volumes that it had are as good as gone.
func (c *Cluster) giveUp(n *Node) {
	n.Forgotten, n.Drain = true, nil
	for _, s := range c.Services {
		for ordinal, home := range s.Homes {
			if home == n.Name {
				delete(s.Homes, ordinal)
			}
		}
		delete(s.Failures, n.Name)
	}
}
