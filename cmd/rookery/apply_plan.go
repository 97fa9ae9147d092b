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

// action is what a plan does with a service.
type action string

// The actions of a plan, in the order in which they are shown and carried out.
const (
	actionCreate    action = "create"
	actionChange    action = "change"
	actionUnchanged action = "unchanged" // the service already matches the files
	actionLeave     action = "leave"     // the files do not list it
	actionDrop      action = "drop"
)

var actions = []action{actionCreate, actionChange, actionUnchanged, actionLeave, actionDrop}

// counted names each action in the line that counts services.
var counted = map[action]string{
	actionCreate: "to create", actionChange: "to change", actionUnchanged: "unchanged", actionLeave: "left alone", actionDrop: "to drop",
}

// plan is what apply does to deploy the files' services into a namespace, and the result.
type plan struct {
	Namespace string `json:"namespace"`
	// Sequence is the place in the log that the views had reached when apply made the plan.
	Sequence uint64  `json:"sequence"`
	Steps    []*step `json:"steps"`
	// Policy is nil where the files do not have one.
	Policy *policyStep `json:"policy,omitempty"`
	composed
}

// step is what the plan does with one service, and the result.
type step struct {
	Service events.ServiceID `json:"service"`
	Action  action           `json:"action"`
	// State is the service's state in its view; empty without a view.
	State string `json:"state,omitempty"`
	// Busy is the sequence of the service's unfinished command; 0 for none.
	Busy uint64 `json:"busy,omitzero"`
	// Fields are the fields that the command changes.
	Fields []difference `json:"fields,omitempty"`
	// Note explains the action, where the fields alone do not.
	Note string `json:"note,omitempty"`
	// Outcome is that of the command's outcome; nil without a command, or while it runs.
	Outcome *api.Command `json:"fate,omitzero"`
	// Command is the sequence of the step's command; 0 if apply published none.
	Command uint64 `json:"command,omitzero"`

	ask events.Data // the command; nil for a step that changes nothing
}

// newPlan compares the wanted services with the present ones, both by name.
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
			s.Note = "not in the files: --prune drops it"
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

// prune makes the plan drop each service that the files do not list. It skips a service that Rookery is dropping already.
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
		scale := int64(max(view.Scale, 1)) // a service that is being dropped keeps its scale
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
	if before.Hash() == after.Hash() { // the coordinator compares hashes too: versions may write equal specs differently
		before.Spec = after.Spec
	}
	if s.Fields, err = differences(before, after); len(s.Fields) > 0 {
		s.Action, s.ask = actionChange, c
	}
	if view.State == views.StatePaused && s.Action == actionUnchanged {
		s.Action, s.ask, s.Note = actionChange, c, "continues the paused update"
	}
	return err
}

// withoutBusy removes the guard, which belongs to the command and not to the service.
func withoutBusy(c events.ServiceEnsure) events.ServiceEnsure {
	c.Guard = events.Guard{}
	return c
}

// does reports whether the plan changes anything.
func (p *plan) does() bool {
	return p.puts() || p.Policy.changes() || slices.ContainsFunc(p.Steps, func(s *step) bool { return s.ask != nil })
}

// ensures returns the steps that create or change a service.
func (p *plan) ensures() []*step {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(s *step) bool { return s.ask == nil || s.Action == actionDrop })
}

// print writes the plan as a table.
func (p *plan) print(out io.Writer) error {
	fmt.Fprintf(out, "Plan for %s, at sequence %d of the log:\n", cmp.Or(p.Namespace, "the cluster"), p.Sequence)
	p.Policy.print(out)
	var rows []string
	counts := map[action]int{}
	for _, s := range p.Steps {
		counts[s.Action]++
		rows = append(rows, s.rows()...)
	}
	if len(rows) > 0 || p.Policy == nil {
		if err := table(out, "SERVICE\tACTION\tWHAT", rows); err != nil {
			return err
		}
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
	if len(said) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(out, strings.Join(said, ", "))
	return err
}

// rows returns the step's rows of the table: the first has the service's name, and each field has its own row.
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

// meets says what the coordinator does with the step's command while an earlier command is unfinished.
func (s *step) meets() string {
	c, ensures := s.ask.(events.ServiceEnsure)
	switch {
	case s.ask == nil:
		return ""
	case ensures && c.Busy == events.BusyQueue:
		return ": this one waits until it ends"
	case ensures && c.Busy != events.BusySupersede:
		return ": wait until it ends, or set busy to queue or supersede in the service"
	}
	return ": this one supersedes it"
}
