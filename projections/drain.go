package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Drain is the progress of a drain, which moves a node's instances to other nodes.
type Drain struct {
	// Cause is the cause of its start. At Until the node stops the instances that are left.
	Cause events.Cause
	Until time.Time
	// Forced says that instances had to stop because Until had come.
	Forced bool `json:",omitzero"`
	// Done says that no instance is left.
	Done bool `json:",omitzero"`
}

// lasting are the verbs of the commands to nodes that go on after the coordinator has accepted them.
var lasting = []string{events.NodeDrain{}.Kind().Name, events.NodeForget{}.Kind().Name}

func lasts(verb string) bool { return slices.Contains(lasting, verb) }

// Draining reports whether all instances must leave the node.
func (n *Node) Draining() bool { return n.Drain != nil }

// evacuates reports whether the instance must leave its node.
func (c *Cluster) evacuates(i *Instance) bool { return i != nil && c.node(i.Node).Draining() }

// drains notes what a retired instance means for a drain: the node had to stop the instance, or a successor on another node failed to
// serve.
func (c *Cluster) drains(s *Service, i *Instance, reason events.RetireReason, now time.Time) {
	if d := c.node(i.Node).Drain; d != nil && reason == events.RetireDrainForced {
		d.Forced = true
	}
	if slot := s.Slots[i.ID.Ordinal]; slot.Next == i && c.evacuates(slot.Current) {
		slot.aside(func(a *Aside) { a.Tries, a.TriedAt = a.Tries+1, now })
	}
}

// nextServes notes since when the successor of an instance serves.
func (s *Service) nextServes(i *Instance, now time.Time) {
	switch slot := s.Slots[i.ID.Ordinal]; {
	case slot.Next != i:
	case i.Seen.Phase != events.PhaseOnline:
		slot.aside(func(a *Aside) { a.NextServes = time.Time{} })
	case slot.Beside().NextServes.IsZero():
		slot.aside(func(a *Aside) { a.NextServes = now })
	}
}

// forgotten removes an instance whose node never reported that it is gone. The instance may have run well until then, so its service
// does not count a failure.
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

// giveUp notes that an operator has forgotten the node: the volumes that it had count as lost.
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
