package placement

import "math"

// findLeast finds the smallest count of a zone over which instances may be spread.
func (q *queue) findLeast() {
	q.least = math.MaxInt32
	for i := range q.zones {
		if z := &q.zones[i]; z.open > 0 {
			q.least = min(q.least, z.spread)
		}
	}
}

// shifted updates least after a zone changed. Its count was before, and it had opened open nodes.
func (q *queue) shifted(z *zoned, before, opened int32) {
	if opened > 0 && z.open > 0 && before > q.least && z.spread > q.least {
		return // another zone has the fewest, before and after
	}
	q.findLeast()
}

// ahead reports whether one more instance would put the zone further ahead of the others than the policy allows.
func (q *queue) ahead(z *zoned) bool {
	return q.spreads && int64(z.spread)+1-int64(q.least) > int64(q.policy.Spread.MaxSkew)
}

// aheadWithout is ahead for an instance that replaces one in the zone, if being ahead excludes nodes.
func (q *queue) aheadWithout(z *zoned, gone relation) bool {
	without := *z
	if gone.spread {
		without.spread--
	}
	least := min(q.least, without.spread)
	return q.spreads && !q.policy.Spread.Soft && int64(without.spread)+1-int64(least) > int64(q.policy.Spread.MaxSkew)
}

// even returns what a node loses because its zone is ahead of others. If the spec itself says what to spread over the zones,
// that counts more than all that nodes lose for their instances of the service.
func (q *queue) even(z *zoned) int64 {
	switch {
	case !q.ahead(z):
		return 0
	case q.asked:
		return -full - 1 - int64(q.policy.SameNode)*point*int64(q.own)
	}
	return -full
}

// together returns what a node loses because other instances of the service are in other zones.
func (q *queue) together(z *zoned) int64 {
	if !q.gathers || q.own == 0 {
		return 0
	}
	return -int64(q.policy.SameZone) * point * int64(q.own-z.own) / int64(q.own)
}
