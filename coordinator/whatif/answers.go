package whatif

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// answersOf returns what follows at once from a round, without a decision: nodes list their instances, instances do what an
// operation asks, and operators promote canaries.
func (r *rerun) answersOf(records []events.Record) []events.Event {
	if len(records) == 0 {
		return nil
	}
	c := r.kept.cluster
	said := r.lists()
	for _, id := range slices.SortedFunc(maps.Keys(c.Operating()), events.ServiceID.Compare) {
		s := c.Services[id]
		if op := s.Operation; op.AwaitsPromotion() {
			said = append(said, events.Event{Scope: events.ServiceScope(id), Data: events.OperationPromoted{Operation: op.Started}})
		}
		said = r.confirmations(said, s)
	}
	return said
}

// confirmations adds the answers of a service's instances that an operation asks something, as many as one round takes.
func (r *rerun) confirmations(said []events.Event, s *projections.Service) []events.Event {
	for i := range s.Instances() {
		asked := s.Asked(i)
		if asked == nil || i.Retired() != "" || i.Seen.Phase != events.PhaseOnline || len(said) >= mostAtOnce {
			continue
		}
		if n := r.kept.cluster.Nodes[i.Node]; !n.Live() || n.Degraded != "" {
			continue
		}
		said = append(said, events.Event{Scope: events.ServiceScope(s.ID), Data: events.InstanceConfirmed{InstanceAsked: events.InstanceAsked{
			Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node, Confirmation: *asked,
		}}})
	}
	return said
}

// lists returns the lists of the nodes that have not listed their instances: all of them still exist, and run as before.
func (r *rerun) lists() []events.Event {
	var said []events.Event
	c := r.kept.cluster
	for _, name := range sortedKeys(c.Nodes) {
		n := c.Nodes[name]
		if !n.Unlisted || !n.Live() || n.Degraded != "" {
			continue
		}
		for _, id := range slices.SortedFunc(maps.Keys(c.Losing()), events.ServiceID.Compare) {
			for i := range c.Services[id].Instances() {
				if i.Lost && i.Node == name && i.Seen.Phase == events.PhaseOnline {
					said = append(said, r.seen(i, events.PhaseOnline))
				}
			}
		}
		said = append(said, events.Event{Scope: events.NodeScope(name), Data: events.NodeListed{Epoch: n.Epoch}})
	}
	return said
}

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
