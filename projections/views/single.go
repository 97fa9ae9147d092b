package views

import (
	"sync"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// OfService returns what the state shows of a service and of its operation; nil for what shows nothing.
func OfService(c *projections.Cluster, id events.ServiceID) (service, operation []byte) {
	changes, key := newChanges(), id.Namespace+"."+id.Name
	changes.service(c, id)
	return changes.Values[Key{bus.BucketServices, key}], changes.Values[Key{bus.BucketOperations, key}]
}

// OfNode returns what the state shows of a node; nil for nothing.
func OfNode(c *projections.Cluster, name string) []byte {
	changes := newChanges()
	changes.node(c, name)
	return changes.Values[Key{bus.BucketNodes, name}]
}

// OfSlots returns what shows a slot of the service by its ordinal, nil for a slot that shows nothing, and how many slots there are
// to be shown.
func OfSlots(c *projections.Cluster, id events.ServiceID) (slot func(ordinal int) []byte, shown int) {
	s := c.Services[id]
	why := sync.OnceValue(func() string { return c.WhyPending(s) })
	return func(ordinal int) []byte {
		changes := newChanges()
		changes.slotBecause(c, id, uint32(ordinal), why)
		return changes.Values[Key{bus.BucketInstances, slotKey(id, ordinal)}]
	}, slotsOf(s)
}

// slotsOf returns how many slots of the service are to be shown.
func slotsOf(s *projections.Service) int {
	if s == nil {
		return 0
	}
	shown := len(s.Slots)
	if !s.Dropped {
		shown = max(shown, int(s.Span()))
	}
	return shown
}
