package placement_test

import (
	"testing"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// later reports whether the service began to wait after the holder, or may do so now; of two at once, the last by name.
func (w *town) later(s, holder *projections.Service) bool {
	since := s.WaitsSince
	if since.IsZero() {
		since = w.now
	}
	return since.After(holder.WaitsSince) || (since.Equal(holder.WaitsSince) && s.ID.Compare(holder.ID) > 0)
}

// fresh reports whether the slot of the last decision had no instance before. Slots of a town come and go with the scale.
func (w *town) fresh(s *projections.Service) bool {
	return int(w.ordinal) >= len(s.Slots) || s.Slots[w.ordinal].Fresh
}

// roomBeside reports whether the node could take one more instance of the service if only the service's own were left there.
func (w *town) roomBeside(s *projections.Service, n *projections.Node) bool {
	has, asks := n.Allocatable(), s.Current().Spec.Reserves(n.Facts.Default, &w.cluster.Policy)
	wants := asks
	for i := range s.Instances() {
		if i.Retired() == "" && i.Node == n.Name {
			wants = wants.Plus(asks)
		}
	}
	return wants.CPU <= has.CPU && wants.Memory <= has.Memory
}

func TestNoMoreThanOneNodeIsHeld(t *testing.T) {
	forEachTown(t, func(w *town, _ *projections.Service, _ placement.Decision) {
		h := w.cluster.Held()
		if h.Service == nil {
			return
		}
		for _, n := range w.cluster.Nodes {
			for _, s := range w.cluster.Services {
				for _, v := range w.board.Verdicts(s, s.Scale) {
					if v.Node == n.Name && v.Removed == "held" && (n.Name != h.Node || s == h.Service) {
						w.t.Errorf("%s is held from %s, and %s is for %s", n.Name, s.ID, h.Node, h.Service.ID)
					}
				}
			}
		}
	})
}

func TestWhatIsNewIsNeverPlacedOnANodeThatIsHeldForWhatWaitsLonger(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		h := w.cluster.Held()
		if h.Service == nil || h.Service == s {
			return
		}
		kept := w.fresh(s) && w.later(s, h.Service)
		switch {
		case d.Node != nil && d.Node.Name == h.Node && kept:
			w.t.Errorf("%s/%d is new, and placed on %s, which is held for %s", s.ID, w.ordinal, h.Node, h.Service.ID)
		case d.Node == nil && d.Pending.Removed.Held > 0 && (!kept || d.Pending.HeldFor != h.Service.ID.String()):
			w.t.Errorf("%s/%d leaves %s to %q, and it is held for %s", s.ID, w.ordinal, h.Node, d.Pending.HeldFor, h.Service.ID)
		}
	})
}

func TestANodeThatCouldNeverHaveTheInstanceIsNotHeld(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		if d.Node != nil || d.Pending.Holds == "" {
			return
		}
		n := w.cluster.Nodes[d.Pending.Holds]
		if !n.Ready() || !w.roomBeside(s, n) {
			w.t.Errorf("%s is held for %s, and has never room for one more", n.Name, s.ID)
		}
		if home := s.Home(w.ordinal); home != "" && home != n.Name {
			w.t.Errorf("%s is held for %s, whose volumes are on %s", n.Name, s.ID, home)
		}
	})
}

func TestTheOldestThatWaitsForResourcesAloneHasANodeHeld(t *testing.T) {
	forEachTown(t, func(w *town, s *projections.Service, d placement.Decision) {
		h := w.cluster.Held()
		if d.Node != nil || d.Pending.Closest == nil || s.Home(w.ordinal) != "" || (h.Service != nil && h.Service != s && w.later(s, h.Service)) {
			return
		}
		n := w.cluster.Nodes[d.Pending.Closest.Node]
		if !w.evens(s) && w.roomBeside(s, n) && d.Pending.Holds == "" {
			w.t.Errorf("%s waits for room on %s, has waited longest, and none is held: %+v", s.ID, n.Name, d.Pending)
		}
	})
}

func TestNothingMovesToANodeThatIsHeld(t *testing.T) {
	forEachTown(t, func(w *town, _ *projections.Service, _ placement.Decision) {
		h := w.cluster.Held()
		if h.Service == nil {
			return
		}
		for _, s := range w.cluster.Services {
			for i := range s.Instances() {
				if i.Retired() != "" {
					continue
				}
				for _, v := range w.board.VerdictsWithout(s, i) {
					if v.Node == h.Node && v.Removed == "" {
						w.t.Errorf("%s may move to %s, which is held for %s", i.ID, h.Node, h.Service.ID)
					}
				}
			}
		}
	})
}

// pend applies the pending decision, as a coordinator does.
func (w *town) pend(s *projections.Service, why events.InstancePending) {
	if s.Lacks() {
		why.Ordinal = w.ordinal
		w.apply(events.ServiceScope(s.ID), why)
	}
}
