package views

import (
	"sync"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// OfService returns the values of a service and of its operation; nil for a value that does not exist.
func OfService(c *projections.Cluster, id events.ServiceID) (service, operation []byte) {
	changes, key := newChanges(), id.Namespace+"."+id.Name
	changes.service(c, id)
	return changes.Values[Key{bus.BucketServices, key}], changes.Values[Key{bus.BucketOperations, key}]
}

// OfNode returns the value of a node; nil if it does not exist.
func OfNode(c *projections.Cluster, name string) []byte {
	changes := newChanges()
	changes.node(c, name)
	return changes.Values[Key{bus.BucketNodes, name}]
}

// OfSlots returns a function that gives the value of a slot by its ordinal, nil if it does not exist. It also returns how many slots of the
// service are shown.
func OfSlots(c *projections.Cluster, id events.ServiceID) (slot func(ordinal int) []byte, shown int) {
	s := c.Services[id]
	why := sync.OnceValue(func() string { return c.WhyPending(s) })
	return func(ordinal int) []byte {
		changes := newChanges()
		changes.slotBecause(c, id, uint32(ordinal), why)
		return changes.Values[Key{bus.BucketInstances, slotKey(id, ordinal)}]
	}, slotsOf(s)
}

// slotsOf returns how many slots of the service are shown.
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
