package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// Inform is what a running instance is to learn, and to be asked.
type Inform struct {
	Container Container
	// Path is the folder of the file, which is to hold the view's Document.
	Path string
	// Decided is the order that says so.
	Decided uint64
	// Hook is what is asked then, because of Change, and Timeout how long the answer may take; nil for nothing.
	Hook    *events.Hook
	Change  events.TopologyChange
	Timeout time.Duration
}

// Informs returns what the instance is to learn now; false for nothing. It is asked once it serves, and again by each of its
// processes.
func (v View) Informs() (Inform, bool) {
	told := v.Order.Topology
	if told == nil || v.Order.Action != events.ActionRun || v.Phase > events.PhaseOnline ||
		v.Container == nil || v.Container.State != Running || v.Container.Role != RoleMain {
		return Inform{}, false
	}
	in := Inform{
		Container: *v.Container, Path: v.Order.Spec.Topology.Path, Decided: v.Order.Decided,
		Timeout: time.Duration(v.Order.Spec.Updates().HealthyDeadline),
	}
	if c := told.Change; c != nil && v.Phase == events.PhaseOnline && (v.Confirmed == nil || confirmation(*c).Above(*v.Confirmed)) {
		in.Hook, in.Change = v.Order.Spec.Hook(c.Phase), *c
	}
	return in, v.Told < v.Order.Decided || in.Hook != nil
}

// Document is what the file of the instance's topology holds; nil where it has none.
func (v View) Document() []byte {
	if v.Order.Topology == nil {
		return nil
	}
	body, err := json.Marshal(events.TopologyDocument{
		Namespace: v.Instance.Service.Namespace, Name: v.Instance.Service.Name,
		Ordinal: v.Instance.Ordinal, Generation: v.Instance.Generation, Told: *v.Order.Topology,
	}, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("a document of plain fields does not encode: %v", err))
	}
	return body
}

// Informed returns the view after the instance has learnt what it was to, and has answered what it was asked; err says why it did
// not do that. What was told to an earlier container counts for nothing.
func (v View) Informed(in Inform, err error) View {
	if v.Container == nil || v.Container.Handle != in.Container.Handle || v.Container.State != Running {
		return v
	}
	v.Told = max(v.Told, in.Decided)
	if in.Hook == nil {
		return v
	}
	answer := confirmation(in.Change)
	switch {
	case err == nil:
	case errors.Is(err, context.DeadlineExceeded):
		answer.Refused = fmt.Sprintf("its %s hook gave no answer within %s", in.Change.Phase, in.Timeout)
	default:
		answer.Refused = fmt.Sprintf("its %s hook: %s", in.Change.Phase, err)
	}
	answer.Refused = strings.ToValidUTF8(answer.Refused[:min(len(answer.Refused), events.MaxMessage)], "")
	v.Confirmed = &answer
	return v
}

func confirmation(c events.TopologyChange) events.Confirmation {
	return events.Confirmation{Operation: c.Operation, Attempt: c.Attempt, Phase: c.Phase}
}
