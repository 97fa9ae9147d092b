package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Reach counts the nodes that must have an instance of a global service: nodes that the spec does not exclude, and that may get
// one now or have one.
func (b *Board) Reach(s *projections.Service) uint32 {
	q, reach := b.queue(s, s.Revision), uint32(0)
	for rank, n := range b.nodes {
		if q.matches(n) && ((n.Ready() && q.met[rank] != allowHostPort && q.met[rank] != allowEngineContext) || q.loads[rank].own > 0) {
			reach++
		}
	}
	return min(reach, events.MaxScale)
}

// Belongs reports whether the spec allows the node of the instance.
func (b *Board) Belongs(s *projections.Service, i *projections.Instance) bool {
	q := b.queue(s, s.Revision)
	rank, known := b.ranks[i.Node]
	return known && q.matches(b.nodes[rank])
}

// matches reports whether the spec selects the node.
func (d *demand) matches(n *projections.Node) bool {
	return hasLabels(n.Facts.Labels, d.spec.NodeSelector) && (d.policy.ZoneAffinity.Soft || d.wantsZone(n.Facts.Zone))
}
