package whatif

import (
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// kept takes the part of the past that is not a decision, in the form that fits the other state.
type kept struct {
	cluster  *projections.Cluster
	policy   *events.Policy
	capacity map[string]events.Resources
	// revisions are, for the log's revisions of a service, the revisions in the other state. These may differ, because an
	// update may have gone back by itself.
	revisions map[events.ServiceID]map[uint64]uint64
}

// begin returns the first events, which give the state the policy and the capacity.
func (k *kept) begin() []events.Event {
	var said []events.Event
	if k.policy != nil && *k.policy != k.cluster.Policy {
		said = append(said, events.Event{Scope: events.ClusterScope, Data: events.PolicyChanged{Policy: *k.policy}})
	}
	for _, name := range sortedKeys(k.cluster.Nodes) {
		if _, other := k.capacity[name]; other {
			said = append(said, k.withCapacity(name, k.cluster.Nodes[name].Overrides))
		}
	}
	return said
}

// withCapacity gives a node its other capacity and keeps the operator's other settings for it.
func (k *kept) withCapacity(node string, o events.Overrides) events.Event {
	other := k.capacity[node]
	if other.CPU > 0 {
		o.Capacity.CPU = other.CPU
	}
	if other.Memory > 0 {
		o.Capacity.Memory = other.Memory
	}
	if other.Disk > 0 {
		o.Capacity.Disk = other.Disk
	}
	return events.Event{Scope: events.NodeScope(node), Data: events.NodeUpdated{Overrides: o}}
}

// of returns what a record of the log becomes in the other state; nothing for decisions, and for records that cannot apply
// there.
func (k *kept) of(r events.Record) []events.Event {
	if id, ok := r.Scope.Service(); ok {
		if d := k.ofService(id, r.Data); d != nil {
			return []events.Event{{Scope: r.Scope, Data: d}}
		}
		return nil
	}
	if name, ok := r.Scope.Node(); ok {
		return k.ofNode(name, r)
	}
	switch r.Data.(type) {
	case events.PolicyChanged:
		if k.policy != nil {
			return nil
		}
	case events.RebalanceStarted:
		if k.cluster.Rebalance != nil {
			return nil
		}
	case events.ClusterAdopted, events.ClusterLevel, events.NodesAllowed, events.RebalanceSet, events.TokenCreated:
	default:
		return nil
	}
	return []events.Event{{Scope: r.Scope, Data: r.Data}}
}

// ofService returns what operators asked of a service, or what its group or its rollback made of that; nil for everything else.
func (k *kept) ofService(id events.ServiceID, data events.Data) events.Data {
	s := k.cluster.Services[id]
	if d, revised := data.(events.ServiceRevised); revised {
		return k.revised(id, s, d)
	}
	if s == nil || s.Current() == nil || s.Dropped {
		return nil
	}
	switch d := data.(type) {
	case events.ServiceScaled:
		if s.Job == nil && s.Scale == d.Scale && slices.Equal(s.Skips, d.Skips) {
			return nil
		}
		return d
	case events.ServiceDropped:
		return d
	case events.ServiceSuspended:
		if s.Job == nil && s.Suspension == nil && (s.Operation == nil || s.Operation.Paused == "") {
			return d
		}
	case events.ServiceResumed:
		if s.Suspension != nil {
			return events.ServiceResumed{}
		}
	case events.OperationResumed:
		if op := s.Operation; op != nil && op.Paused != "" && !op.Kind.Together() {
			return events.OperationResumed{Operation: op.Started}
		}
	}
	return nil
}

// revised numbers a revision as the other state does. It returns nil if the service already has that spec.
func (k *kept) revised(id events.ServiceID, s *projections.Service, d events.ServiceRevised) events.Data {
	numbers := k.revisions[id]
	if numbers == nil {
		numbers = map[uint64]uint64{}
		k.revisions[id] = numbers
		if s != nil { // at the beginning it is as in the log
			for number := range s.Revisions {
				numbers[number] = number
			}
		}
	}
	if d.Revision == 1 {
		clear(numbers)
	}
	if s == nil || s.Current() == nil {
		numbers[d.Revision] = 1
		return events.ServiceRevised{Revision: 1, Spec: d.Spec, Hash: d.Hash}
	}
	if s.Current().Hash == d.Hash && !s.Dropped && d.Of == 0 && !d.Spec.IsJob() {
		numbers[d.Revision] = s.Revision
		return nil
	}
	next := events.ServiceRevised{Revision: s.Revision + 1, Spec: d.Spec, Hash: d.Hash}
	has := func(number uint64) bool { return number > 0 && s.Revisions[number] != nil }
	if of := numbers[d.Of]; has(of) {
		next.Of = of
	}
	for _, keeps := range d.Keeps {
		if n := numbers[keeps]; has(n) {
			next.Keeps = append(next.Keeps, n)
		}
	}
	numbers[d.Revision] = next.Revision
	return next
}

// ofNode returns what a node did, or what operators set for it.
func (k *kept) ofNode(name string, r events.Record) []events.Event {
	n, as := k.cluster.Nodes[name], []events.Event{{Scope: r.Scope, Data: r.Data}}
	if d, joined := r.Data.(events.NodeJoined); joined {
		if n != nil && (n.Forgotten || n.Epoch >= d.Epoch) {
			return nil
		}
		if _, other := k.capacity[name]; other && n == nil {
			as = append(as, k.withCapacity(name, events.Overrides{}))
		}
		return as
	}
	if n == nil || n.Forgotten {
		return nil
	}
	keep := false
	switch d := r.Data.(type) {
	case events.NodeSilent:
		keep = !n.Silent
	case events.NodeReturned:
		keep = n.Silent
	case events.NodeUpdated:
		return []events.Event{k.withCapacity(name, d.Overrides)}
	case events.NodeDegraded, events.NodeRecovered, events.NodePaused, events.NodeResumed, events.NodeDraining, events.NodeForgotten,
		events.NodeAdmitted, events.NodeRevoked:
		keep = true
	}
	if !keep {
		return nil
	}
	return as
}
