package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// How many series there are at most of what is told of single services, nodes and operations. What is beyond is added up in one more.
const (
	mostServicesMeasured   = 1000
	mostNodesMeasured      = 1000
	mostOperationsMeasured = 100
	mostShunnedTold        = 100
)

// levels are what stands in a state at one moment. They cost no more than a look at each service and each node, and at the slots of
// those that change.
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

// shunnedOf is what a unit that is left alone is of. It has no scope for all beyond the bound together.
type shunnedOf struct {
	work  events.Work
	scope events.Scope
}

// serviceLevels are those of a service, or of all beyond the bound together, which has no name.
type serviceLevels struct {
	id events.ServiceID
	// desired is how many slots shall have an instance, online how many serve and pending how many have none.
	desired, online, pending int
	// waits is for how long one of them has found no node.
	waits time.Duration
}

type nodeLevels struct {
	name                  string
	allocatable, reserved events.Resources
}

// namedState is what one node is.
type namedState struct {
	name  string
	state projections.NodeState
}

// operationLevels are those of an operation that is under way.
type operationLevels struct {
	id      events.ServiceID
	kind    events.OperationKind
	phase   events.OperationPhase
	since   time.Duration
	overdue time.Duration
	// awaited is how many slots are not done with the phase, as far as that is looked at.
	awaited int
	// slowest is the first of them, and on where its instance is; "" where it has none.
	slowest uint32
	on      string
}

// levelsOf looks at the state at a time.
func levelsOf(c *projections.Cluster, now time.Time) levels {
	l := levels{sequence: c.Sequence, open: len(c.Open()), shunned: shunnedIn(c), nodes: map[projections.NodeState]int{}, pending: map[string]int{}}
	for _, state := range projections.NodeStates {
		l.nodes[state] = 0 // one that has none says so
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

// shunnedIn counts what is left alone. Of each kind of work it has one without a scope, which says so where that is nothing.
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

// online is how many slots serve. Those that an update has not come to count as well: it may last for days, as where somebody is to promote
// it. Of a job it is those whose instance works or comes to it: it ends by itself, and at any moment some have just begun. A job that is
// through has all of its slots still, and is not looked at.
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
		if !n.Heard() || n.Forgotten {
			continue // nobody can have anything of it
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

// urgency is less for nodes of a state that somebody has to see to before others.
func urgency(s projections.NodeState) int {
	switch s {
	case projections.NodeLost, projections.NodeSilent, projections.NodeDegraded:
		return 0
	case projections.NodeForgotten, projections.NodeAway, projections.NodeDrained, projections.NodeDraining, projections.NodePaused,
		projections.NodeNotAllowed:
		return 1
	case projections.NodeReady:
	}
	return 2
}

// lookAtOperations looks at those under way that have been in their phase for longest.
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

// overdue is by how much the time of the operation's phase is over. One that is paused waits for people, who are late from its phase's end on.
func overdue(s *projections.Service, now time.Time) time.Duration {
	until := s.Until()
	if until.IsZero() {
		until = s.Operation.Entered
	}
	return max(now.Sub(until), 0)
}

// waitsFor looks at whom the phase waits for, and by how much its time is over.
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

// Reasons for which a slot waits that no filter of placement gives.
const (
	pendingUndecided = "undecided" // its previous instances must be gone first, or the leader has not decided it yet
	pendingNoNode    = "no-node"   // no node has joined
)

// pendingReason is the filter that removes most nodes from those that could have the service's next instance.
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
