package coordinator

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// windowOf is how long after its node was last heard an instance of the spec may run there; 0 for no such bound. It begins when
// the node sent its last heartbeat, and the leader waits as long from when it found the node silent: which is later.
func (t *Turn) windowOf(s *projections.Service, spec *events.Spec) events.Duration {
	if !spec.Exclusive {
		return 0
	}
	return max(events.Duration(t.Cluster.LostAfter(s)), events.MinWindow)
}

// mayLive reports whether an exclusive instance on a node that is not heard may run still: its window has not passed, counted from
// when the node was found silent, or from this leader's beginning. The one before may have answered the node, and said so to nobody.
func (t *Turn) mayLive(n *projections.Node, i *projections.Instance) bool {
	since := slices.MaxFunc([]time.Time{n.SilentSince, t.agenda.began}, time.Time.Compare)
	return i.PlacedWith().Window > 0 && !i.Lost && t.Now.Before(since.Add(t.lostAfter(t.Cluster.Services[i.ID.Service], i)))
}

// lostAfter is how long the instance's node is silent before it is lost. One that is exclusive has ended by then.
func (t *Turn) lostAfter(s *projections.Service, i *projections.Instance) time.Duration {
	after := t.Cluster.LostAfter(s)
	if i.PlacedWith().Window > 0 {
		after = max(after, time.Duration(i.PlacedWith().Window)) + events.WindowMargin
	}
	return after
}
