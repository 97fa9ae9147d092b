package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator/operation"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// PlanAction is what a plan does with a slot.
type PlanAction string

// The actions of a plan.
const (
	PlanNone    PlanAction = "none"     // its instance stays as it is
	PlanInPlace PlanAction = "in-place" // its instance stays, and counts as of the new revision
	PlanCreate  PlanAction = "create"   // it gets its first instance
	PlanReplace PlanAction = "replace"  // another instance replaces the present one, on the same node
	PlanMove    PlanAction = "move"     // another instance replaces the present one, on another node
	PlanDestroy PlanAction = "destroy"  // its instance stops and is removed
	PlanWait    PlanAction = "wait"     // no node can take its next instance
)

// Plan is what a command would do to its service.
type Plan struct {
	Service string `json:"service"`
	// Sequence is the sequence of the log for which the plan holds.
	Sequence uint64 `json:"sequence"`
	// Revision and Scale are those that the service would have.
	Revision uint64 `json:"revision,omitzero"`
	Scale    uint32 `json:"scale"`
	// Waves counts the waves of the operation; 0 for none.
	Waves uint32 `json:"waves,omitzero"`
	// Rejection says why the coordinator would reject the command, or why it would wait; nil if it would do what the plan says.
	Rejection *events.Rejection `json:"rejection,omitempty"`
	Slots     []PlannedSlot     `json:"slots"`
	// Events are those of the round that would decide the command: what each is about, and its name, as in "node n1.paused".
	Events []string `json:"events,omitempty"`
}

// PlannedSlot is what a plan does with one slot.
type PlannedSlot struct {
	Ordinal uint32     `json:"ordinal"`
	Action  PlanAction `json:"action"`
	// From is the node of the present instance, and To that of the next; "" for none.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Wave is the wave in which the slot gets its next instance; 0 for none.
	Wave uint32 `json:"wave,omitzero"`
	// Order says which of the present and the next instance comes first, if there are two.
	Order events.UpdateOrder `json:"order,omitempty"`
	// Reason says why the plan does this, and why on this node.
	Reason string `json:"reason,omitempty"`
}

// planner carries out a command in a state that only it uses, in which every instance comes to serve and stops as told.
type planner struct {
	rehearsal
	id    events.ServiceID
	slots map[uint32]*PlannedSlot
	waves uint32
	// pended are the slots that waited for a node before.
	pended map[uint32]bool
}

// PlanCommand returns what the command to a service would do if it came now and nothing else happened. It changes the state on
// the way, so the caller must not use that state afterwards.
func PlanCommand(c *projections.Cluster, r events.Request, now time.Time) Plan {
	id, _ := r.Scope.Service()
	p := &planner{rehearsal: rehearsal{c, NewWorkQueue(c), now}, id: id, slots: map[uint32]*PlannedSlot{}, pended: map[uint32]bool{}}
	plan := Plan{Service: id.String(), Sequence: c.Sequence}
	p.present()
	p.work.services = map[events.ServiceID]struct{}{}
	r.Sequence = math.MaxUint64 // no command has this sequence
	if plan.Rejection = r.Rejection; plan.Rejection == nil {
		for _, e := range p.decide(func(t *Turn) { t.Command(r) }) {
			switch d := e.Data.(type) {
			case events.CommandRejected:
				plan.Rejection = &d.Rejection
			case events.CommandQueued:
				plan.Rejection = &events.Rejection{Code: events.CodeBusy, Field: "busy", Reason: fmt.Sprintf("it waits behind command %d", d.Behind)}
			}
			plan.Events = append(plan.Events, eventName(e))
		}
	}
	if plan.Rejection != nil {
		plan.Events = nil
	}
	for i := 0; i < maxPlanned && plan.Rejection == nil && p.goOn(); i++ {
	}
	p.compare()
	if s := c.Services[id]; s != nil {
		if plan.Rejection == nil && !s.Dropped && !s.Suspended() {
			p.waiting(s)
		}
		plan.Revision, plan.Scale = s.Revision, s.Scale
	}
	plan.Waves = p.waves
	for _, o := range slices.Sorted(maps.Keys(p.slots)) {
		plan.Slots = append(plan.Slots, *p.slots[o])
	}
	return plan
}

// present notes the present instances, and the slots that wait for a node.
func (p *planner) present() {
	if s := p.cluster.Services[p.id]; s != nil {
		for o := range s.Ordinals() {
			p.pended[o] = s.Pends(o)
		}
		for o, slot := range s.Slots {
			if i := slot.Current; i != nil {
				p.slots[uint32(o)] = &PlannedSlot{Ordinal: uint32(o), Action: PlanNone, From: i.Node, To: i.Node}
			}
		}
	}
}

// decide decides a round of the input, notes what it decides for the slots, and returns its events.
func (p *planner) decide(input func(*Turn)) []events.Record {
	records := p.round(func(t *Turn) {
		input(t)
		p.work.add(p.id)
	})
	for _, r := range records {
		p.note(r.Data)
	}
	return records
}

// follows decides a round, and reports whether it had any events.
func (p *planner) follows(input func(*Turn)) bool { return len(p.decide(input)) > 0 }

// goOn lets the nodes carry out the orders. If there are none, it moves the clock to the end of the operation's wait, or
// promotes the canaries. It reports whether anything followed.
func (p *planner) goOn() bool {
	s := p.cluster.Services[p.id]
	if s == nil {
		return false
	}
	if done := p.obey(s); len(done) > 0 {
		return p.follows(func(t *Turn) {
			for _, d := range done {
				t.emit(events.ServiceScope(p.id), d)
			}
		})
	}
	op := s.Operation
	switch {
	case op == nil:
		return false
	case op.AwaitsPromotion():
		return p.follows(func(t *Turn) {
			t.emit(events.ServiceScope(p.id), events.OperationPromoted{Operation: op.Started})
		})
	case op.Phase == events.OperationStart:
		p.now = p.now.Add(time.Duration(*s.Current().Spec.Updates().MinHealthy))
	default:
		if until := s.Until(); until.After(p.now) && op.Phase.Rests() {
			p.now = until
		}
	}
	return p.follows(func(*Turn) {})
}

// obey returns what the nodes that send heartbeats would report next about the service's instances.
func (p *planner) obey(s *projections.Service) []events.Data {
	var done []events.Data
	for i := range s.Instances() {
		switch {
		case !p.cluster.Nodes[i.Node].Live() || len(done) == MaxPerInput:
		case i.Retired() != "":
			done = append(done, events.InstanceRemoved{InstanceSeen: seenOf(i, events.PhaseRemoved)})
		case i.Seen.Phase < events.PhaseOnline:
			done = append(done, events.InstanceOnline{InstanceSeen: seenOf(i, events.PhaseOnline)})
		case s.Asked(i) != nil:
			done = append(done, confirmed(i, *s.Asked(i)))
		}
	}
	return done
}

// confirmed returns the answer of an instance that has done what the operation asked.
func confirmed(i *projections.Instance, c events.Confirmation) events.InstanceConfirmed {
	return events.InstanceConfirmed{InstanceAsked: events.InstanceAsked{
		Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node,
		Confirmation: c,
	}}
}

// note notes what an event decides for the slots.
func (p *planner) note(d events.Data) {
	switch d := d.(type) {
	case events.OperationEntered:
		p.waves = max(p.waves, d.Wave)
	case events.InstanceRetired:
		if slot := p.slots[d.Ordinal]; slot != nil && slot.Order == "" {
			slot.Order, slot.Reason = events.StopFirst, p.retiredBecause(d.Reason)
		}
	case events.InstancePlaced:
		p.placed(d)
	case events.InstancePending:
		slot := p.slot(d.Ordinal)
		slot.Action, slot.To, slot.Reason = PlanWait, "", projections.Reasons(d)
	}
}

// waiting adds the slots that come to wait behind the first one for which there is no node.
func (p *planner) waiting(s *projections.Service) {
	for o := range s.Ordinals() {
		if s.Pends(o) && !p.pended[o] {
			slot := p.slot(o)
			slot.Action, slot.To, slot.Reason = PlanWait, "", projections.Reasons(*s.Pending)
		}
	}
}

func (p *planner) slot(ordinal uint32) *PlannedSlot {
	if p.slots[ordinal] == nil {
		p.slots[ordinal] = &PlannedSlot{Ordinal: ordinal, Action: PlanCreate}
	}
	return p.slots[ordinal]
}

func (p *planner) placed(d events.InstancePlaced) {
	slot := p.slot(d.Ordinal)
	slot.To = d.Node
	switch slot.From {
	case "":
		slot.Action = PlanCreate
	case d.Node:
		slot.Action = PlanReplace
	default:
		slot.Action = PlanMove
	}
	if s := p.cluster.Services[p.id]; s.Operation != nil && slot.From != "" {
		slot.Wave = s.Operation.Wave
	}
	if d.Replaces > 0 {
		slot.Order, slot.Reason = events.StartFirst, p.retiredBecause(events.RetireRevised)
	}
	if d.Choice != nil {
		slot.Reason = joined(slot.Reason, chosenBecause(d))
	}
}

// compare fills in what has become of the slots at the end.
func (p *planner) compare() {
	s := p.cluster.Services[p.id]
	for o, slot := range p.slots {
		if s == nil || s.Dropped || s.Suspended() || !s.Wants(o) {
			slot.Action, slot.To, slot.Order = PlanDestroy, "", ""
			continue
		}
		if slot.Action != PlanNone || int(o) >= len(s.Slots) || s.Slots[o].Current == nil {
			continue
		}
		i := s.Slots[o].Current
		switch {
		case i.Revision == s.Revision:
		case s.UpToDate(i):
			slot.Action, slot.Reason = PlanInPlace, "revision "+utoa(s.Revision)+" does not change it"
		case s.Operation != nil && slices.Contains(s.Operation.Waiting, o):
			slot.Action, slot.To, slot.Reason = PlanWait, "", "its wave does not begin: an earlier slot waits"
		default:
			slot.Action, slot.To = PlanWait, ""
			slot.Reason = operation.Case{Cluster: p.cluster, Service: s, Board: p.work.board}.Detail(o)
		}
	}
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// retiredBecause describes for the operator why an instance stops.
func (p *planner) retiredBecause(reason events.RetireReason) string {
	if reason == events.RetireRevised {
		return p.replacedBecause()
	}
	said := map[events.RetireReason]string{
		events.RetireMakesRoom:  p.replacedBecause() + ", and no node has room for both",
		events.RetireScaledDown: "its service is scaled down",
		events.RetireDropped:    "its service is dropped",
		events.RetireSuspended:  "its service is suspended",
		events.RetireUnmatched:  "its spec does not select its node",
	}
	return cmp.Or(said[reason], string(reason))
}

// replacedBecause describes for the operator what the operation is for.
func (p *planner) replacedBecause() string {
	s := p.cluster.Services[p.id]
	if s == nil || s.Operation == nil {
		return "its spec changes"
	}
	return operation.Case{Service: s}.Because()
}

// chosenBecause describes for the operator why the node was chosen.
func chosenBecause(d events.InstancePlaced) string {
	const points = 1000.0
	text := fmt.Sprintf("%s has %.1f points", d.Node, float64(d.Choice.Score)/points)
	if d.Choice.RunnerUp != "" {
		text += fmt.Sprintf(", and %s %.1f", d.Choice.RunnerUp, float64(d.Choice.RunnerUpScore)/points)
	}
	return text
}
