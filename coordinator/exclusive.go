package coordinator

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// windowOf returns how long an instance of the spec may run after its node's last heartbeat; 0 for no such bound. The window
// begins when the node sent that heartbeat. The leader waits as long from when it found the node silent, which is later.
func (t *Turn) windowOf(s *projections.Service, spec *events.Spec) events.Duration {
	if !spec.Exclusive {
		return 0
	}
	return max(events.Duration(t.Cluster.LostAfter(s)), events.MinWindow)
}

// mayLive reports whether an exclusive instance on a silent node may still run: its window has not passed. The leader counts
// the window from when it found the node silent, or from its own first turn. The former leader may have answered the node
// without telling anyone.
func (t *Turn) mayLive(n *projections.Node, i *projections.Instance) bool {
	since := slices.MaxFunc([]time.Time{n.SilentSince, t.work.began}, time.Time.Compare)
	return i.PlacedWith().Window > 0 && !i.Lost && t.Now.Before(since.Add(t.lostAfter(t.Cluster.Services[i.ID.Service], i)))
}

// lostAfter returns how long the instance's node must be silent before the instance is lost. By then an exclusive instance has
// ended.
func (t *Turn) lostAfter(s *projections.Service, i *projections.Instance) time.Duration {
	after := t.Cluster.LostAfter(s)
	if t.Cluster.Nodes[i.Node].Revoked {
		after = 0
	}
	if i.PlacedWith().Window > 0 {
		after = max(after, time.Duration(i.PlacedWith().Window)) + events.WindowMargin
	}
	return after
}
