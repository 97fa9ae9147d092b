package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Bounds of the series about single services, nodes and operations. Those beyond a bound are added up in one more series.
const (
	mostServicesMeasured   = 1000
	mostNodesMeasured      = 1000
	mostOperationsMeasured = 100
	mostShunnedTold        = 100
)

// levels are the figures of a state at one moment. They cost no more than a look at each service and each node, and at the slots of
// services that change.
type levels struct {
	sequence uint64
	open     int
	shunned  map[shunnedOf]int
	nodes    map[projections.NodeState]int
	pending  map[string]int
	services []serviceLevels
	machines []nodeLevels
	states   []namedState
	under    []operationLevels
}

// shunnedOf is what a skipped unit belongs to. All units beyond the bound together have no scope.
type shunnedOf struct {
	work  events.Work
	scope events.Scope
}

// serviceLevels are the levels of a service, or of all services beyond the bound together, which have no name.
type serviceLevels struct {
	id events.ServiceID
	// desired is how many slots should have an instance, online how many serve and pending how many have no instance.
	desired, online, pending int
	// waits is how long one of them has found no node.
	waits time.Duration
}

type nodeLevels struct {
	name                  string
	allocatable, reserved events.Resources
}

// namedState is the state of one node.
type namedState struct {
	name  string
	state projections.NodeState
}

// operationLevels are the levels of an operation in progress.
type operationLevels struct {
	id      events.ServiceID
	kind    events.OperationKind
	phase   events.OperationPhase
	since   time.Duration
	overdue time.Duration
	// awaited is how many slots are not done with the phase, as far as the verdict names them.
	awaited int
	// slowest is the first of these slots, and on the node of its instance; "" if it has none.
	slowest uint32
	on      string
}

// levelsOf computes the levels of the state at a time.
func levelsOf(c *projections.Cluster, now time.Time) levels {
	l := levels{sequence: c.Sequence, open: len(c.Open()), shunned: shunnedIn(c), nodes: map[projections.NodeState]int{}, pending: map[string]int{}}
	for _, state := range projections.NodeStates {
		l.nodes[state] = 0 // a state without nodes reports 0
	}
	rest := serviceLevels{}
	for i, id := range slices.SortedFunc(maps.Keys(c.Services), events.ServiceID.Compare) {
		s := levelsOfService(c.Services[id], now)
		if s.pending > 0 {
			l.pending[pendingReason(c.Services[id])] += s.pending
		}
		if i < mostServicesMeasured {
			l.services = append(l.services, s)
			continue
		}
		rest = serviceLevels{
			desired: rest.desired + s.desired, online: rest.online + s.online, pending: rest.pending + s.pending, waits: max(rest.waits, s.waits),
		}
	}
	if len(c.Services) > mostServicesMeasured {
		l.services = append(l.services, rest)
	}
	l.lookAtNodes(c)
	l.lookAtOperations(c, now)
	return l
}

// shunnedIn counts the skipped units. Each kind of work has one entry without a scope, which reports 0 if no unit is skipped.
func shunnedIn(c *projections.Cluster) map[shunnedOf]int {
	found := map[shunnedOf]int{}
	for _, work := range events.Works {
		found[shunnedOf{work: work}] = 0
	}
	for _, s := range c.Shunned {
		of := shunnedOf{s.Unit.Work, s.Unit.Scope}
		if _, named := found[of]; !named && len(found) >= len(events.Works)+mostShunnedTold {
			of.scope = events.Scope{}
		}
		found[of]++
	}
	return found
}

func levelsOfService(s *projections.Service, now time.Time) serviceLevels {
	l := serviceLevels{id: s.ID, desired: s.Wanted(), online: online(s)}
	l.pending = max(l.desired-s.Filled(), 0)
	if !s.WaitsSince.IsZero() {
		l.waits = max(now.Sub(s.WaitsSince), 0)
	}
	return l
}

// online is how many slots serve. Slots that an update has not reached count as well: the update may last for days, for example while it
// waits for an operator to promote it. Of a job, slots count whose instance works or is starting: a job ends on its own, and at any moment
// some instances have just begun. A finished job still has all its slots, and counts none.
func online(s *projections.Service) (n int) {
	switch {
	case s.Job == nil && !s.Rolling():
		return s.Serving()
	case s.Job != nil && s.Wanted() == 0:
		return 0
	}
	for _, slot := range s.Slots {
		i := slot.Current
		if i != nil && !i.Lost && (i.Seen.Phase == events.PhaseOnline || (s.Job != nil && i.Seen.Phase < events.PhaseOnline)) {
			n++
		}
	}
	return n
}

func (l *levels) lookAtNodes(c *projections.Cluster) {
	rest := nodeLevels{}
	for i, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		n := c.Nodes[name]
		state := n.State()
		l.nodes[state]++
		l.states = append(l.states, namedState{name, state})
		if !n.Live() || n.Forgotten {
			continue // its resources are not available
		}
		if i < mostNodesMeasured {
			l.machines = append(l.machines, nodeLevels{name, n.Allocatable(), n.Reserved()})
			continue
		}
		rest.allocatable, rest.reserved = rest.allocatable.Plus(n.Allocatable()), rest.reserved.Plus(n.Reserved())
	}
	if len(c.Nodes) > mostNodesMeasured {
		l.machines = append(l.machines, rest)
	}
	slices.SortStableFunc(l.states, func(a, b namedState) int { return cmp.Compare(urgency(a.state), urgency(b.state)) })
	l.states = l.states[:min(len(l.states), mostNodesMeasured)]
}

// urgency is lower for nodes in a state that needs an operator sooner.
func urgency(s projections.NodeState) int {
	switch s {
	case projections.NodeLost, projections.NodeSilent, projections.NodeDegraded:
		return 0
	case projections.NodeForgotten, projections.NodeRevoked, projections.NodeAway, projections.NodeDrained, projections.NodeDraining, projections.NodePaused,
		projections.NodeNotAllowed:
		return 1
	case projections.NodeReady:
	}
	return 2
}

// lookAtOperations reports the operations that have been in their phase for longest.
func (l *levels) lookAtOperations(c *projections.Cluster, now time.Time) {
	services := make([]*projections.Service, 0, len(c.Operating()))
	for id := range c.Operating() {
		services = append(services, c.Services[id])
	}
	slices.SortFunc(services, func(a, b *projections.Service) int {
		return cmp.Or(a.Operation.Entered.Compare(b.Operation.Entered), a.ID.Compare(b.ID))
	})
	for _, s := range services[:min(len(services), mostOperationsMeasured)] {
		op := s.Operation
		o := operationLevels{id: s.ID, kind: op.Kind, phase: op.Phase, since: max(now.Sub(op.Entered), 0)}
		switch {
		case op.Paused != "":
			o.overdue = overdue(s, now)
		case op.Kind.Together() || op.Revision == s.Revision:
			o.waitsFor(c, s, now)
		}
		l.under = append(l.under, o)
	}
}

// overdue is how far the operation's phase is past its deadline. A paused operation waits for an operator, and is overdue from the end of
// its phase on.
func overdue(s *projections.Service, now time.Time) time.Duration {
	until := s.Until()
	if until.IsZero() {
		until = s.Operation.Entered
	}
	return max(now.Sub(until), 0)
}

// waitsFor finds which slots the phase waits for, and how far it is past its deadline.
func (o *operationLevels) waitsFor(c *projections.Cluster, s *projections.Service, now time.Time) {
	if !s.Until().IsZero() {
		o.overdue = overdue(s, now)
	}
	awaited := c.Verdict(s, now).Awaited()
	o.awaited = len(awaited)
	if len(awaited) == 0 {
		return
	}
	o.slowest = awaited[0]
	if int(o.slowest) < len(s.Slots) && s.Slots[o.slowest].Current != nil {
		o.on = s.Slots[o.slowest].Current.Node
	}
}

// Reasons for which a slot waits that are not filters of placement.
const (
	pendingUndecided = "undecided" // its previous instances must be gone first, or the leader has not decided it yet
	pendingNoNode    = "no-node"   // no node has joined
)

// pendingReason is the filter that removes most of the nodes for the service's next instance.
func pendingReason(s *projections.Service) string {
	switch {
	case s.Pending == nil:
		return pendingUndecided
	case s.Pending.Nodes == 0:
		return pendingNoNode
	}
	r := s.Pending.Removed
	reason, most := pendingUndecided, uint32(0)
	for _, filter := range []struct {
		name  string
		count uint32
	}{
		{"cpu", r.CPU},
		{"memory", r.Memory},
		{"disk", r.Disk},
		{"node-selector", r.NodeSelector},
		{"zone", r.Zone},
		{"allow-host-port", r.AllowHostPort},
		{"allow-engine-context", r.AllowEngineContext},
		{"anti-affinity", r.AntiAffinity},
		{"max-per-node", r.MaxPerNode},
		{"host-port", r.HostPort},
		{"ports", r.Ports},
		{"spread", r.Spread},
		{"held", r.Held},
		{"volumes", r.Volumes},
		{"crashed", r.Crashed},
		{"silent", r.Silent},
		{"degraded", r.Degraded},
		{"paused", r.Paused},
		{"drained", r.Drained},
		{"not-allowed", r.NotAllowed},
	} {
		if filter.count > most {
			reason, most = filter.name, filter.count
		}
	}
	return reason
}
