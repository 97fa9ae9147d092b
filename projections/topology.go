package projections

import (
	"iter"
	"slices"

	"github.com/rookery-project/rookery/events"
)

// top is one above the highest ordinal of the scale.
func (s *Service) top() uint32 { return s.Scale + uint32(len(s.Skips)) }

// Wants reports whether the scale includes the ordinal.
func (s *Service) Wants(ordinal uint32) bool {
	return ordinal < s.top() && !s.skips(ordinal)
}

// Span is one above the highest ordinal for which the service has an instance. It covers the scale, and also the topology as long as that
// differs from the scale.
func (s *Service) Span() uint32 {
	if s.Topology == nil || s.Dropped {
		return s.top()
	}
	return max(s.top(), s.Topology.Span())
}

// Has reports whether the service has, or must have, an instance with that ordinal.
func (s *Service) Has(ordinal uint32) bool {
	return ordinal < s.Span() && !s.skips(ordinal)
}

func (s *Service) skips(ordinal uint32) bool {
	_, skips := slices.BinarySearch(s.Skips, ordinal)
	return skips
}

// Ordinals yields, in order, the ordinals for which Has reports true.
func (s *Service) Ordinals() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for o := range s.Span() {
			if s.Has(o) && !yield(o) {
				return
			}
		}
	}
}

// Rescales reports whether the service's topology differs from its scale, or a change of it was left unfinished.
func (s *Service) Rescales() bool {
	return s.Topology != nil && (s.Topology.Scale != s.Scale || s.Topology.Change != nil)
}

// Alone reports whether the slot's next instance must wait until its previous instances are gone. Otherwise two instances would
// serve the same part of a topology, write to the same volume, or break the promise of an exclusive slot.
func (s *Service) Alone(ordinal uint32) bool {
	spec := &s.Revisions[s.Target(ordinal)].Spec
	return spec.Topology != nil || spec.Exclusive || s.Home(ordinal) != "" || s.Writes(ordinal, func(i *Instance) bool { return !i.Lost })
}

// Writes reports whether one of these terminating instances has volumes that the slot's next instance may get too. That is so even if an instance
// without volumes has had the slot in between.
func (s *Service) Writes(ordinal uint32, one func(*Instance) bool) bool {
	return int(ordinal) < len(s.Slots) && s.Revisions[s.Target(ordinal)].Spec.KeepsVolumes() &&
		slices.ContainsFunc(s.Slots[ordinal].Beside().Terminating, func(i *Instance) bool {
			return s.Revisions[i.Revision].Spec.KeepsVolumes() && one(i)
		})
}

// applyTopology applies an event about a service's topology to the state.
func (c *Cluster) applyTopology(r events.Record) bool {
	d, changed := r.Data.(events.TopologyChanged)
	if changed {
		id, _ := r.Scope.Service()
		c.tell(r, c.service(id), d)
	}
	return changed
}

// tell applies a topology to the state, and counts a new order for each instance that must learn it. An instance with an order of
// this round gets the topology with that order.
func (c *Cluster) tell(r events.Record, s *Service, d events.TopologyChanged) {
	s.Topology, s.Moved, s.Versions = &d.Topology, false, max(s.Versions, d.ConfigVersion)
	if d.Change != nil {
		s.Versions = max(s.Versions, d.Change.ConfigVersion)
	}
	for i := range s.Instances() {
		if s.tells(i) && i.Decided <= c.Sequence {
			n := c.node(i.Node)
			n.Orders++
			i.Decided, i.Counter = r.Sequence, n.Orders
		}
	}
	s.trim()
}

// tells reports whether the instance's order carries the topology.
func (s *Service) tells(i *Instance) bool {
	return s.Topology != nil && i.Retired() == "" && s.Revisions[i.Revision].Spec.Topology != nil
}

// Asked returns the confirmation that the instance still owes for a change of the topology or for a snapshot; nil for none.
func (s *Service) Asked(i *Instance) *events.Confirmation {
	var wanted events.Confirmation
	if a := s.AskOf(i); a != nil {
		wanted = a.Confirmed()
	} else if s.tells(i) && s.Topology.Change != nil && s.Revisions[i.Revision].Spec.Hook(s.Topology.Change.Phase) != nil {
		wanted = s.Topology.Change.Confirmed()
	}
	if wanted.Operation == 0 || (i.Confirmed().Operation == wanted.Operation && !wanted.Above(i.Confirmed())) {
		return nil
	}
	return &wanted
}

// told returns the topology that the instance's order carries; nil for none.
func (s *Service) told(i *Instance) *events.Told {
	if !s.tells(i) {
		return nil
	}
	t := events.Told{Topology: *s.Topology, Snapshot: s.resumedFrom(), Peers: []events.Peer{}}
	for o, slot := range s.Slots {
		if at := slot.Current; at != nil {
			t.Peers = append(t.Peers, events.Peer{Ordinal: uint32(o), Host: at.Address, Ports: named(at.Ports)})
		}
	}
	return &t
}

// named returns the host ports by name; nil for none, because a reader of the order also gets nil.
func named(bindings []events.PortBinding) map[string]uint16 {
	if len(bindings) == 0 {
		return nil
	}
	ports := make(map[string]uint16, len(bindings))
	for _, b := range bindings {
		ports[b.Name] = b.HostPort
	}
	return ports
}

// exported keeps the exported contents of a slot's volumes.
func (c *Cluster) exported(service events.ServiceID, d events.InstanceConfirmed) {
	s := c.service(service)
	if op := s.Operation; op != nil && op.Started == d.Operation && len(d.Exports) > 0 {
		if op.Exports == nil {
			op.Exports = map[uint32][]events.Export{}
		}
		op.Exports[d.Ordinal] = d.Exports
	}
}

// answered notes how an instance answered a request.
func (c *Cluster) answered(service events.ServiceID, d events.InstanceAsked) {
	if i := c.Instance(events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation}); i != nil {
		i.Answer = &d.Confirmation
	}
}
