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
	// Asked is what the instance is asked once the file says so, nil for nothing: to run Hook, or to have Exports kept. Timeout is
	// how long the answer may take.
	Asked   Confirmable
	Hook    *events.Hook
	Exports []events.Volume
	Timeout time.Duration
}

// Confirmable is what an instance is asked in an operation, which waits for its answer.
type Confirmable interface {
	Asked
	// Confirmed is the answer of one that has done it.
	Confirmed() events.Confirmation
}

// answer returns the answer that is asked for; zero for none.
func (in Inform) answer() events.Confirmation {
	if in.Asked == nil {
		return events.Confirmation{}
	}
	return in.Asked.Confirmed()
}

// Asks reports whether both ask the same, be it nothing.
func (in Inform) Asks(other Inform) bool { return in.answer() == other.answer() }

// Informs returns what the instance is to learn now; false for nothing. It is asked once it serves, and again by each of its
// processes.
func (v View) Informs() (Inform, bool) {
	if v.Order.Action != events.ActionRun || v.Phase > events.PhaseOnline ||
		v.Container == nil || v.Container.State != Running || v.Container.Role != RoleMain {
		return Inform{}, false
	}
	in := Inform{
		Container: *v.Container, Decided: v.Order.Decided, Told: true, Asked: v.asked(),
		Timeout: time.Duration(v.Order.Spec.Updates().HealthyDeadline),
	}
	if v.Order.Topology != nil {
		in.Path, in.Told = v.Order.Spec.Topology.Path, v.Told == v.Order.Decided
	}
	if asked := in.answer(); in.Asked != nil && v.Phase == events.PhaseOnline && !v.answered(asked) {
		in.Hook = v.Order.Spec.Hook(asked.Phase)
		if asked.Phase == events.OperationExport {
			in.Exports = v.Order.Spec.StateVolumes()
		}
	}
	return in, !in.Told || in.Hook != nil || len(in.Exports) > 0
}

// asked returns what the order asks of the instance; nil for nothing.
func (v View) asked() Confirmable {
	switch told := v.Order.Topology; {
	case v.Order.Ask != nil:
		return *v.Order.Ask
	case told != nil && told.Change != nil:
		return *told.Change
	}
	return nil
}

// answered reports whether the process has given the answer. What was answered in an operation that is not this one counts for
// nothing, be it a later one: the log may have been restored.
func (v View) answered(c events.Confirmation) bool {
	return v.Confirmed != nil && v.Confirmed.Operation == c.Operation && !c.Above(*v.Confirmed)
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

// Answered returns the view after the instance has answered what it was asked, with what was kept of its volumes; err says why it
// did not do that.
func (v View) Answered(in Inform, exports []events.Export, err error) View {
	if !v.runs(in.Container) {
		return v
	}
	answer, what := in.answer(), "hook"
	if answer.Phase == events.OperationExport {
		what = "of its volumes"
	}
	switch {
	case err == nil:
		v.Exports = exports
	case errors.Is(err, context.DeadlineExceeded):
		answer.Refused = fmt.Sprintf("its %s %s was not done within %s", answer.Phase, what, in.Timeout)
	default:
		answer.Refused = fmt.Sprintf("its %s %s: %s", answer.Phase, what, err)
	}
	answer.Refused = strings.ToValidUTF8(answer.Refused[:min(len(answer.Refused), events.MaxMessage)], "")
	v.Confirmed = &answer
	return v
}

// runs reports whether the view's container is this one still, and runs.
func (v View) runs(c Container) bool {
	return v.Container != nil && v.Container.Handle == c.Handle && v.Container.State == Running
}
