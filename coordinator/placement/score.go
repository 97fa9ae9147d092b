package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// point is one point of a score, which is counted in thousandths.
const point = 1000

// full is what the profile gives a node that fits it best.
const full = int64(events.MaxWeight) * point

// failing is what a node loses on which the revision fails: it goes behind every other.
const failing = -10 * full

// points returns what a node gets for itself; what its zone adds comes when one is chosen.
func (q *queue) points(rank int32) events.Points {
	return q.pointsWithout(rank, events.Resources{})
}

// pointsWithout is points as if what is set aside for an instance on the node were given back.
func (q *queue) pointsWithout(rank int32, credit events.Resources) events.Points {
	var p events.Points
	d, n, l := &q.demand, q.board.nodes[rank], q.loads[rank]
	p.Profile = d.share(n, credit)
	if d.policy.Profile == events.DistributeLoad {
		p.Profile = full - p.Profile
	}
	if l.apart > 0 {
		p.AntiAffinity = -int64(d.policy.AntiAffinity.Weight) * point
	}
	if !d.wantsZone(n.Facts.Zone) {
		p.Zone = -int64(d.policy.ZoneAffinity.Weight) * point
	}
	if _, fails := q.failing[rank]; fails {
		p.Failures = failing
	}
	return p
}

// share is how much of the node is taken with one more instance and the credit given back: of the resource that is taken
// most, 0 to full.
func (d *demand) share(n *projections.Node, credit events.Resources) int64 {
	has, asks := n.Allocatable(), d.asks(n)
	taken := n.Reserved().Plus(asks).Minus(credit)
	most := part(uint64(taken.CPU), uint64(has.CPU))
	most = max(most, part(uint64(taken.Memory)>>sharedBits, uint64(has.Memory)>>sharedBits))
	if asks.Disk > 0 {
		most = max(most, part(uint64(taken.Disk)>>sharedBits, uint64(has.Disk)>>sharedBits))
	}
	return min(most, full)
}

// sharedBits has sizes be compared in KiB, so that no product overflows.
const sharedBits = 10

// part returns taken of has, scaled to full; 0 where the node could not tell what it has.
func part(taken, has uint64) int64 {
	if has == 0 {
		return 0
	}
	return int64(taken * uint64(full) / has)
}
