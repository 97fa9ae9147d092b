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
	// Decided is the order that says so, and Told says that the file holds it already.
	Decided uint64
	Told    bool
	// Change is what the topology is to become, zero for nothing. Hook is what is asked because of it once the file holds it, and
	// Timeout how long the answer may take; nil for nothing.
	Change  events.TopologyChange
	Hook    *events.Hook
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
		Told:    v.Told == v.Order.Decided,
		Timeout: time.Duration(v.Order.Spec.Updates().HealthyDeadline),
	}
	if c := told.Change; c != nil {
		in.Change = *c
		if v.Phase == events.PhaseOnline && !v.answered(*c) {
			in.Hook = v.Order.Spec.Hook(c.Phase)
		}
	}
	return in, !in.Told || in.Hook != nil
}

// answered reports whether the process has answered what the change asks. What was answered in an operation that is not this one
// counts for nothing, be it a later one: the log may have been restored.
func (v View) answered(c events.TopologyChange) bool {
	return v.Confirmed != nil && v.Confirmed.Operation == c.Operation && !c.Confirmed().Above(*v.Confirmed)
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

// Learnt returns the view after the file was written. What was told to an earlier container counts for nothing.
func (v View) Learnt(in Inform) View {
	if v.runs(in.Container) {
		v.Told = in.Decided
	}
	return v
}

// Answered returns the view after the instance has answered what it was asked; err says why it did not do that.
func (v View) Answered(in Inform, err error) View {
	if !v.runs(in.Container) {
		return v
	}
	answer := in.Change.Confirmed()
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

// runs reports whether the view's container is this one still, and runs.
func (v View) runs(c Container) bool {
	return v.Container != nil && v.Container.Handle == c.Handle && v.Container.State == Running
}
