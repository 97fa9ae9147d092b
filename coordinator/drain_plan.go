package coordinator

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// DrainAction is what a drain does with an instance on its node.
type DrainAction string

// The actions of a drain.
const (
	DrainMove    DrainAction = "move"    // it stops once its successor on another node serves
	DrainRestart DrainAction = "restart" // it stops, and then its slot starts on another node
	DrainWait    DrainAction = "wait"    // it stops, and no node can take its slot's next instance for now
	DrainEnd     DrainAction = "end"     // it stops, and no instance replaces it
	DrainFinish  DrainAction = "finish"  // it belongs to a job, and the drain waits for it until the deadline
)

// PlannedDrain is what a drain does with one instance.
type PlannedDrain struct {
	Service string      `json:"service"`
	Ordinal uint32      `json:"ordinal"`
	Action  DrainAction `json:"action"`
	// To is the node of the slot's next instance; "" if there is none.
	To string `json:"to,omitempty"`
	// AtDeadline says that the instance stops at the deadline, not sooner.
	AtDeadline bool `json:"at_deadline,omitzero"`
	// Reason says why the instance does not simply move.
	Reason string `json:"reason,omitempty"`
}

// DrainPlan is what a drain would do.
type DrainPlan struct {
	Node string `json:"node"`
	// Sequence is the sequence of the log at which the plan was made.
	Sequence uint64 `json:"sequence"`
	// Rejection says why the coordinator would reject the command; nil if it would do what the plan says.
	Rejection *events.Rejection `json:"rejection,omitempty"`
	Instances []PlannedDrain    `json:"instances"`
}

// drainPlanner carries out a drain in a state that only it uses, in which every successor comes to serve and every instance stops
// when told.
type drainPlanner struct {
	rehearsal
	node    string
	since   uint64
	planned map[events.InstanceID]*PlannedDrain
}

// PlanDrain returns what a drain that is asked for now would do with each instance of its node. It assumes that every
// successor comes to serve and that nothing else happens. It changes the state on the way, so the caller must not use that
// state afterwards.
func PlanDrain(c *projections.Cluster, asked events.Request, now time.Time) DrainPlan {
	node, _ := asked.Scope.Node()
	asked.Sequence = math.MaxUint64 // no command has this sequence
	p := &drainPlanner{rehearsal: rehearsal{c, NewWorkQueue(c), now}, node: node, since: c.Sequence, planned: map[events.InstanceID]*PlannedDrain{}}
	plan := DrainPlan{Node: node, Sequence: c.Sequence}
	if n := c.Nodes[node]; n != nil {
		p.present(n)
	}
	p.follows(func(t *Turn) {
		t.Command(asked)
		for _, r := range t.Records {
			if d, rejected := r.Data.(events.CommandRejected); rejected {
				plan.Rejection = &d.Rejection
			}
		}
	})
	if plan.Rejection != nil {
		return plan
	}
	p.run()
	early := map[events.InstanceID]bool{}
	for id := range p.planned {
		i := c.Instance(id)
		early[id] = i == nil || i.Retired() != ""
	}
	if n := c.Nodes[node]; n.Draining() && !n.Drain.Done {
		p.now = n.Drain.Until
		p.follows(func(*Turn) {})
		p.run()
	}
	for id, planned := range p.planned {
		p.conclude(id, planned, early[id])
		plan.Instances = append(plan.Instances, *planned)
	}
	slices.SortFunc(plan.Instances, func(a, b PlannedDrain) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return plan
}

// present notes the node's instances.
func (p *drainPlanner) present(n *projections.Node) {
	for _, i := range NewTurn(p.cluster, p.work, p.now).instancesOn([]*projections.Node{n})[n.Name] {
		if i.Retired() == "" {
			p.planned[i.ID] = &PlannedDrain{Service: i.ID.Service.String(), Ordinal: i.ID.Ordinal}
		}
	}
}

// run decides rounds until nothing more follows. Time does not pass meanwhile, except the time that a successor must serve
// before it counts.
func (p *drainPlanner) run() {
	for range maxPlanned {
		done := p.obey()
		follows := p.follows(func(t *Turn) {
			for _, r := range done {
				t.emit(r.Scope, r.Data)
			}
		})
		if !follows && !p.wait() {
			return
		}
	}
}

// wait moves the clock to the first time at which a successor has served long enough to count. It reports whether there is such
// a successor.
func (p *drainPlanner) wait() bool {
	first := time.Time{}
	for id := range p.planned {
		i := p.cluster.Instance(id)
		if i == nil {
			continue
		}
		s := p.cluster.Services[id.Service]
		since := s.Slots[id.Ordinal].Beside().NextServes
		until := since.Add(time.Duration(*s.Current().Spec.Updates().MinHealthy))
		if !since.IsZero() && until.After(p.now) && (first.IsZero() || until.Before(first)) {
			first = until
		}
	}
	if first.IsZero() {
		return false
	}
	p.now = first
	return true
}

// follows decides a round, and reports whether it had any events. It notes which instances get a successor.
func (p *drainPlanner) follows(input func(*Turn)) bool {
	records := p.round(input)
	for _, r := range records {
		if d, placed := r.Data.(events.InstancePlaced); placed && d.Replaces > 0 {
			id, _ := r.Scope.Service()
			if planned := p.planned[events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Replaces}]; planned != nil {
				planned.Action = DrainMove
			}
		}
	}
	return len(records) > 0
}

// obey returns what the nodes would report next about the decisions since the drain began.
func (p *drainPlanner) obey() []events.Record {
	var done []events.Record
	see := func(i *projections.Instance, d events.Data) {
		done = append(done, events.Record{Event: events.Event{Scope: events.ServiceScope(i.ID.Service), Data: d}})
	}
	for _, id := range slices.SortedFunc(maps.Keys(p.cluster.Services), events.ServiceID.Compare) {
		for i := range p.cluster.Services[id].Instances() {
			switch {
			case len(done) == MaxPerInput:
				return done
			case i.Retired() != "":
				see(i, events.InstanceRemoved{InstanceSeen: seenOf(i, events.PhaseRemoved)})
			case i.Decided > p.since && i.Seen.Phase < events.PhaseOnline:
				see(i, events.InstanceOnline{InstanceSeen: seenOf(i, events.PhaseOnline)})
			}
		}
	}
	return done
}

// conclude fills in what the drain does with an instance.
func (p *drainPlanner) conclude(id events.InstanceID, planned *PlannedDrain, early bool) {
	s := p.cluster.Services[id.Service]
	planned.AtDeadline = !early
	var next *projections.Instance
	if s != nil && int(id.Ordinal) < len(s.Slots) {
		next = s.Slots[id.Ordinal].Current
	}
	if next != nil && next.Node != p.node {
		planned.To = next.Node
	}
	switch {
	case s == nil || s.Dropped || s.Suspended():
		planned.Action, planned.To, planned.Reason = DrainEnd, "", "its service is dropped or suspended"
	case s.Job != nil:
		planned.Action, planned.Reason = DrainFinish, "it belongs to a job; at the deadline the job starts it again on another node"
	case s.Current().Spec.Global():
		planned.Action, planned.To, planned.Reason = DrainEnd, "", "its service has one instance on each node; it stops last"
	case planned.To == "":
		planned.Action = DrainWait
		if planned.Reason = p.cluster.WhyPending(s); s.Home(id.Ordinal) != "" {
			planned.Reason = "its volumes are on this node; it stops last"
		}
	case planned.Action == DrainMove && early:
	default:
		planned.Action, planned.Reason = DrainRestart, "no node has room for its successor beside it"
		if s.Alone(id.Ordinal) {
			planned.Reason = "its slot may have only one instance at a time"
		}
	}
}
