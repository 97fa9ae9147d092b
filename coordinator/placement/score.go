package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// point is one point of a score, which is counted in thousandths.
const point = 1000

// full is what the profile gives a node that fits it best.
const full = int64(events.MaxWeight) * point

// failing is what a node loses if the revision fails on it. It is so much that the node comes after every other one.
const failing = -full * int64(events.MaxNodeWeight) * events.MaxScale

// points returns a node's own points; a choice adds those of its zone.
func (q *queue) points(rank int32) events.Points {
	var p events.Points
	p.Profile, p.AntiAffinity, p.Zone, p.Failures = q.terms(rank, q.credit(rank))
	p.SameNode = q.sameNode(rank)
	return p
}

// credit returns what an instance that leaves the node gives back.
func (q *queue) credit(rank int32) events.Resources {
	if q.leaves != nil && q.leaves.rank == rank {
		return q.leaves.reserved
	}
	return events.Resources{}
}

// scoreWithout returns the sum of points as if the resources of an instance on the node were given back.
func (q *queue) scoreWithout(rank int32, credit events.Resources) int64 {
	profile, antiAffinity, zone, failures := q.terms(rank, credit)
	return profile + antiAffinity + zone + failures + q.sameNode(rank)
}

// sameNode returns what a node loses for its instances of the service.
func (q *queue) sameNode(rank int32) int64 {
	own := q.loads[rank].own
	if q.leaves != nil && q.leaves.rank == rank {
		own--
	}
	return -int64(q.policy.SameNode) * point * int64(own)
}

// terms returns the terms of points one by one, because most nodes only need their sum.
func (q *queue) terms(rank int32, credit events.Resources) (profile, antiAffinity, zone, failures int64) {
	d, n := &q.demand, q.board.nodes[rank]
	profile = d.share(n, credit)
	if d.policy.Profile == events.DistributeLoad {
		profile = full - profile
	}
	if q.loads[rank].apart > 0 {
		antiAffinity = -int64(d.policy.AntiAffinity.Weight) * point
	}
	if !d.wantsZone(n.Facts.Zone) {
		zone = -int64(d.policy.ZoneAffinity.Weight) * point
	}
	if len(q.failing) > 0 {
		if _, fails := q.failing[rank]; fails {
			failures = failing
		}
	}
	return profile, antiAffinity, zone, failures
}

// share returns the used part of the node with one more instance and the credit given back. It is that of the most used
// resource, 0 to full.
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

// sharedBits makes sizes compare in KiB, so that no product overflows.
const sharedBits = 10

// part returns taken of has, scaled to full; 0 if the node could not report what it has.
func part(taken, has uint64) int64 {
	if has == 0 {
		return 0
	}
	return int64(taken * uint64(full) / has)
}
