package coordinator

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Agenda holds the services that may not be as they shall be. What does not fit into a round waits here for the next.
// It is no part of the state: a leader that takes over begins with everything.
type Agenda struct {
	board    *placement.Board
	services map[events.ServiceID]struct{}
	// shifted says that nodes have more or less to give than before: what waits for one is looked at again.
	shifted bool
	// turned says that nodes came, went, or are taken for others: global services follow them, operations wait for none that is
	// not heard, and what was lost may be back.
	turned bool
	// began is when the first turn was: what nobody was there to hear of before is held against no group and no node.
	began time.Time
	// unheard says that what follows from silent nodes is to be looked at anew, at lostAt at the latest, if that is set.
	unheard bool
	lostAt  time.Time
	// cut says that the last round was full, so that another one is due at once.
	cut bool
	// records is the place of a round's records, which every turn takes over from the one before.
	records []events.Record
}

// NewAgenda returns an agenda with every service of the cluster.
func NewAgenda(c *projections.Cluster) *Agenda {
	a := &Agenda{
		unheard:  true,
		board:    placement.NewBoard(c),
		services: make(map[events.ServiceID]struct{}, len(c.Services)),
		records:  make([]events.Record, 0, MaxEvents),
	}
	for id := range c.Services {
		a.services[id] = struct{}{}
	}
	for id := range c.Queues {
		a.services[id] = struct{}{}
	}
	for _, g := range c.Groups {
		a.addAll(g.Members())
	}
	return a
}

// Rebuilt returns an agenda with every service of a cluster whose state was folded again. Time-outs go on.
func (a *Agenda) Rebuilt(c *projections.Cluster) *Agenda {
	rebuilt := NewAgenda(c)
	rebuilt.began = a.began
	return rebuilt
}

// Resume has every time-out begin anew for what nodes were not heard for: nobody listened for a while.
func (a *Agenda) Resume() { a.began, a.unheard = time.Time{}, true }

// Waits reports whether a service waits that may be looked at now.
func (a *Agenda) Waits(c *projections.Cluster) bool {
	return (len(a.services) > 0 || a.shifted || a.cut) && !c.Recovering
}

func (a *Agenda) add(id events.ServiceID) { a.services[id] = struct{}{} }

func (a *Agenda) addAll(ids []events.ServiceID) {
	for _, id := range ids {
		a.add(id)
	}
}

func (a *Agenda) done(id events.ServiceID) { delete(a.services, id) }

// inOrder returns the services to be looked at: those that wait for a node first, the one that has waited longest at the
// head.
func (a *Agenda) inOrder(c *projections.Cluster) []events.ServiceID {
	if a.shifted {
		a.shifted = false
		if c.InMotion() {
			a.add(c.Rebalance.Moving.Service)
		}
		for id := range c.Short() {
			if s := c.Services[id]; s.Pending != nil || s.Rolling() {
				a.add(id)
			}
		}
	}
	if a.turned {
		a.turned = false
		for id := range c.Global() {
			a.add(id)
		}
		for id := range c.Operating() {
			a.add(id)
		}
		for id := range c.Losing() {
			a.add(id)
		}
	}
	return slices.SortedFunc(maps.Keys(a.services), func(x, y events.ServiceID) int {
		return cmp.Or(byWaiting(c.Services[x], c.Services[y]), x.Compare(y))
	})
}

// byWaiting orders services by when they began to wait for a node; those that wait for none come behind.
func byWaiting(x, y *projections.Service) int {
	waits := func(s *projections.Service) bool { return s != nil && !s.WaitsSince.IsZero() }
	switch {
	case waits(x) && waits(y):
		return x.WaitsSince.Compare(y.WaitsSince)
	case waits(x):
		return -1
	case waits(y):
		return 1
	}
	return 0
}

// released has what waits for a node that is held no more be looked at again, and what it was held for.
func (a *Agenda) released(h projections.Hold) {
	if h.Service == nil {
		return
	}
	a.shifted = true
	a.add(h.Service.ID)
}

// note puts on the agenda whatever the event may have unsettled. The service that is being reconciled stays there until it
// is done.
func (a *Agenda) note(r events.Record, reconciles func(events.ServiceID) bool) {
	if id, ok := r.Scope.Service(); ok && !reconciles(id) {
		a.add(id)
	}
	a.board.Note(r)
	switch d := r.Data.(type) {
	case events.NodeJoined, events.NodeSilent, events.NodeReturned, events.NodeDegraded, events.NodeRecovered,
		events.NodePaused, events.NodeResumed, events.NodeUpdated, events.NodeDraining, events.NodeForgotten, events.NodeRemoved,
		events.PolicyChanged, events.NodesAllowed:
		a.shifted, a.turned, a.unheard = true, true, true
	case events.UnitRetried:
		a.shifted, a.turned, a.unheard = true, true, true
	case events.NodeListed:
		a.turned = true
	case events.ServiceRevised, events.NodeLost, events.EvictionsResumed:
		a.unheard = true
	case events.InstancePlaced, events.InstanceAdopted, events.InstanceRetired, events.InstanceCompleted, events.InstanceStopped,
		events.InstanceRemoved, events.InstanceForgotten:
		a.shifted = true
	case events.InstanceOffline:
		a.shifted = a.shifted || d.NoRestart != ""
	}
}
