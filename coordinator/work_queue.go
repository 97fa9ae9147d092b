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

// WorkQueue has the services that may not be at their target. Services that do not fit into a round stay here for
// the next one. The work queue is not stored with the state: after a failover the new leader begins with every service.
type WorkQueue struct {
	board    *placement.Board
	services map[events.ServiceID]struct{}
	// shifted says that the nodes' free resources have changed: the next round reconciles the services that wait for a node.
	shifted bool
	// turned says that nodes joined, left, or changed what they accept. The next round reconciles global services, which follow
	// the nodes, services with an operation, which do not wait for silent nodes, and services with a lost instance, which may
	// be back.
	turned bool
	// began is when this leader's first turn was. Time-outs of groups and nodes count from then at the earliest, since no
	// leader listened before.
	began time.Time
	// unheard says that the next round looks at the silent nodes again. If lostAt is set, this happens at that time at the
	// latest.
	unheard bool
	lostAt  time.Time
	// cut says that the last round was full, so that another one follows at once.
	cut bool
	// records is the buffer for a round's records, which every turn takes over from the one before.
	records []events.Record
}

// NewWorkQueue returns a work queue with every service of the cluster.
func NewWorkQueue(c *projections.Cluster) *WorkQueue {
	a := &WorkQueue{
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

// Rebuilt returns a work queue with every service of a cluster whose state was folded again. Time-outs keep running.
func (a *WorkQueue) Rebuilt(c *projections.Cluster) *WorkQueue {
	rebuilt := NewWorkQueue(c)
	rebuilt.began = a.began
	return rebuilt
}

// Resume starts all time-outs for silent nodes again, because the leader did not listen for a while.
func (a *WorkQueue) Resume() { a.began, a.unheard = time.Time{}, true }

// Waits reports whether the next round has work, and may do it now.
func (a *WorkQueue) Waits(c *projections.Cluster) bool {
	return (len(a.services) > 0 || a.shifted || a.cut) && !c.Recovering
}

func (a *WorkQueue) add(id events.ServiceID) { a.services[id] = struct{}{} }

func (a *WorkQueue) addAll(ids []events.ServiceID) {
	for _, id := range ids {
		a.add(id)
	}
}

func (a *WorkQueue) done(id events.ServiceID) { delete(a.services, id) }

// inOrder returns the services to reconcile. Those that wait for a node come first, with the longest wait at the head.
func (a *WorkQueue) inOrder(c *projections.Cluster) []events.ServiceID {
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

// byWaiting orders services by when they began to wait for a node. Those that do not wait come last.
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

// released queues the service for which a node was held until now, and all services that wait for a node.
func (a *WorkQueue) released(h projections.Hold) {
	if h.Service == nil {
		return
	}
	a.shifted = true
	a.add(h.Service.ID)
}

// note puts the services that the event may have moved off their target into the work queue. The service that is being
// reconciled stays there until it is done.
func (a *WorkQueue) note(r events.Record, reconciles func(events.ServiceID) bool) {
	if id, ok := r.Scope.Service(); ok && !reconciles(id) {
		a.add(id)
	}
	a.board.Note(r)
	switch d := r.Data.(type) {
	case events.NodeJoined, events.NodeSilent, events.NodeRevoked, events.NodeReturned, events.NodeDegraded, events.NodeRecovered,
		events.NodePaused, events.NodeResumed, events.NodeUpdated, events.NodeDraining, events.NodeForgotten, events.NodeRemoved,
		events.PolicyChanged, events.NodesAllowed, events.ClusterLevel:
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
