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

// Inform is what the node must tell and ask a running instance.
type Inform struct {
	Container Container
	// Path is the folder of the topology file, which must hold the view's Document.
	Path string
	// Decided is the order that asks for this. Told reports whether the file already holds the order's topology.
	Decided uint64
	Told    bool
	// Asked is what the node asks the instance once the file is written, nil for nothing: to run Hook, or to keep Exports. Timeout
	// is how long the answer may take.
	Asked   Confirmable
	Hook    *events.Hook
	Exports []events.Volume
	Timeout time.Duration
}

// Confirmable is what an operation asks an instance. The operation waits for the answer.
type Confirmable interface {
	Asked
	// Confirmed is the answer of an instance that has done it.
	Confirmed() events.Confirmation
}

// answer returns the answer that the operation waits for; zero for none.
func (in Inform) answer() events.Confirmation {
	if in.Asked == nil {
		return events.Confirmation{}
	}
	return in.Asked.Confirmed()
}

// Asks reports whether both ask the same thing, or both ask nothing.
func (in Inform) Asks(other Inform) bool { return in.answer() == other.answer() }

// Informs returns what the node must tell or ask the instance now; false for nothing. The node asks once the instance serves, and
// asks each new process of the instance again.
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

// answered reports whether the process has given the answer. An answer to another operation does not count. This holds even for a
// later operation, because the log may have been restored.
func (v View) answered(c events.Confirmation) bool {
	return v.Confirmed != nil && v.Confirmed.Operation == c.Operation && !c.Above(*v.Confirmed)
}

// Document is the content of the instance's topology file; nil if it has no such file.
func (v View) Document() []byte {
	if v.Order.Topology == nil {
		return nil
	}
	body, err := json.Marshal(events.TopologyDocument{
		Namespace: v.Instance.Service.Namespace, Name: v.Instance.Service.Name,
		Ordinal: v.Instance.Ordinal, Generation: v.Instance.Generation, Told: *v.Order.Topology,
	}, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("cannot encode a topology document, which has only plain fields: %v", err))
	}
	return body
}

// Learnt returns the view after the node wrote the topology file. A file of an earlier container does not count.
func (v View) Learnt(in Inform) View {
	if v.runs(in.Container) {
		v.Told = in.Decided
	}
	return v
}

// Answered returns the view after the instance has answered what the node asked. exports are what the node kept of its volumes; err
// says why the instance did not do what it was asked.
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

// runs reports whether the view's container is still this one, and runs.
func (v View) runs(c Container) bool {
	return v.Container != nil && v.Container.Handle == c.Handle && v.Container.State == Running
}
