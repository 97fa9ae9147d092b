package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/views"
)

// action is what is to be done with a service.
type action string

// The actions of a plan, in the order in which they are shown and carried out.
const (
	actionCreate    action = "create"
	actionChange    action = "change"
	actionUnchanged action = "unchanged" // it is as it shall be
	actionLeave     action = "leave"     // the files do not list it
	actionDrop      action = "drop"
)

var actions = []action{actionCreate, actionChange, actionUnchanged, actionLeave, actionDrop}

// counted is how people are told of how many services there is which action.
var counted = map[action]string{
	actionCreate: "to create", actionChange: "to change", actionUnchanged: "unchanged", actionLeave: "left alone", actionDrop: "to drop",
}

// plan is what is to be done so that a namespace has the services of a list, and what came of it.
type plan struct {
	Namespace string `json:"namespace"`
	// Sequence is the place in the log up to which everything was seen when the plan was made.
	Sequence uint64  `json:"sequence"`
	Steps    []*step `json:"steps"`
	composed
}

// step is what is to be done with one service, and what came of it.
type step struct {
	Service events.ServiceID `json:"service"`
	Action  action           `json:"action"`
	// State is that of the service in its view; empty where there is none.
	State string `json:"state,omitempty"`
	// Busy is the sequence of the service's command that had not ended; 0 where there was none.
	Busy uint64 `json:"busy,omitzero"`
	// Fields are those that a command would give another value.
	Fields []difference `json:"fields,omitempty"`
	// Note says what else there is to know.
	Note string `json:"note,omitempty"`
	// Fate is how the command ended; nil where there was none, or where it goes on.
	Fate *api.Fate `json:"fate,omitzero"`
	// Command is the sequence of the step's command; 0 where none was published.
	Command uint64 `json:"command,omitzero"`

	ask events.Data // the command; nil where there is nothing to do
}

// newPlan compares what is wanted with what is present, both by name.
func newPlan(namespace string, wanted map[string]events.ServiceEnsure, present presentServices) (*plan, error) {
	p := &plan{Namespace: namespace, Sequence: present.sequence, Steps: []*step{}}
	for name, c := range wanted {
		view, standing := present.views[name]
		s := newStep(events.ServiceID{Namespace: namespace, Name: name}, view)
		var err error
		if c.IfSeq == 0 {
			c.IfSeq = p.Sequence
		}
		if standing && view.State != views.StateDropping {
			err = s.change(c, view)
		} else {
			err = s.create(c, view)
		}
		if err != nil {
			return nil, err
		}
		p.Steps = append(p.Steps, s)
	}
	for name, view := range present.views {
		if _, listed := wanted[name]; listed {
			continue
		}
		s := newStep(events.ServiceID{Namespace: namespace, Name: name}, view)
		s.Action = actionLeave
		if view.State != views.StateDropping {
			s.Note = "the files do not list it: --prune drops it"
		}
		p.Steps = append(p.Steps, s)
	}
	p.order()
	return p, nil
}

func newStep(id events.ServiceID, view views.Service) *step {
	return &step{Service: id, State: view.State, Busy: view.Busy}
}

func (p *plan) order() {
	slices.SortFunc(p.Steps, func(a, b *step) int {
		return cmp.Or(cmp.Compare(slices.Index(actions, a.Action), slices.Index(actions, b.Action)), a.Service.Compare(b.Service))
	})
}

// prune has the plan drop what the files do not list, and what is not being dropped already.
func (p *plan) prune() {
	for _, s := range p.Steps {
		if s.Action == actionLeave && s.State != views.StateDropping {
			s.Action, s.Note = actionDrop, ""
			s.ask = events.ServiceDrop{Guard: events.Guard{SeenAt: events.SeenAt{IfSeq: p.Sequence}}}
		}
	}
	p.order()
}

func (s *step) create(c events.ServiceEnsure, view views.Service) (err error) {
	s.Action, s.ask = actionCreate, c
	if c.Scale == nil && c.Scaled() {
		scale := int64(max(view.Scale, 1)) // one that is being dropped keeps its own
		c.Scale = &scale
	}
	s.Fields, err = differences(struct{}{}, withoutBusy(c))
	return err
}

func (s *step) change(c events.ServiceEnsure, view views.Service) (err error) {
	s.Action = actionUnchanged
	before, after := events.ServiceEnsure{Spec: view.Spec}, withoutBusy(c)
	scale := int64(view.Scale)
	if view.Spec.Scaled() {
		before.Scale = &scale
	}
	if after.Scale == nil && after.Scaled() {
		after.Scale = &scale
	}
	if before.Hash() == after.Hash() { // as the coordinator compares them, whatever version wrote the one that stands
		before.Spec = after.Spec
	}
	if s.Fields, err = differences(before, after); len(s.Fields) > 0 {
		s.Action, s.ask = actionChange, c
	}
	if view.State == views.StatePaused && s.Action == actionUnchanged {
		s.Action, s.ask, s.Note = actionChange, c, "its update goes on"
	}
	return err
}

// withoutBusy leaves out what a service is not, but its command.
func withoutBusy(c events.ServiceEnsure) events.ServiceEnsure {
	c.Guard = events.Guard{}
	return c
}

// does reports whether there is anything to do.
func (p *plan) does() bool {
	return p.puts() || slices.ContainsFunc(p.Steps, func(s *step) bool { return s.ask != nil })
}

// ensures are the steps that create or change a service.
func (p *plan) ensures() []*step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s *step) bool { return s.ask == nil || s.Action == actionDrop })
}

// print tells people.
func (p *plan) print(out io.Writer) error {
	fmt.Fprintf(out, "Plan for %s, at sequence %d of the log:\n", p.Namespace, p.Sequence)
	var rows []string
	counts := map[action]int{}
	for _, s := range p.Steps {
		counts[s.Action]++
		rows = append(rows, s.rows()...)
	}
	if err := table(out, "SERVICE\tACTION\tWHAT", rows); err != nil {
		return err
	}
	p.printComposed(out)
	var said []string
	for _, a := range actions {
		if counts[a] > 0 {
			said = append(said, fmt.Sprintf("%d %s", counts[a], counted[a]))
		}
	}
	if !p.does() {
		said = append(said, "nothing to do")
	}
	_, err := fmt.Fprintln(out, strings.Join(said, ", "))
	return err
}

// rows are the step's in a table: the first has its name, and each field one of its own.
func (s *step) rows() []string {
	var what []string
	for _, f := range s.Fields {
		text := f.String()
		if f.Old == nil && s.Action == actionChange {
			text = f.Field + ": none → " + string(f.New)
		}
		what = append(what, text)
	}
	if len(what) == 0 {
		what = []string{"it is " + s.State}
	}
	if s.Note != "" {
		what = append(what, s.Note)
	}
	if s.Busy > 0 {
		what = append(what, fmt.Sprintf("command %d has not ended%s", s.Busy, s.meets()))
	}
	rows := []string{s.Service.String() + "\t" + string(s.Action) + "\t" + what[0]}
	for _, w := range what[1:] {
		rows = append(rows, "\t\t"+w)
	}
	return rows
}

// meets says what becomes of the step's command where an earlier one has not ended.
func (s *step) meets() string {
	c, ensures := s.ask.(events.ServiceEnsure)
	switch {
	case s.ask == nil:
		return ""
	case ensures && c.Busy == events.BusyQueue:
		return ": this one waits for its end"
	case ensures && c.Busy != events.BusySupersede:
		return `: wait for its end, or write "busy":"queue" or "busy":"supersede" into the service`
	}
	return ": this one takes its place"
}
