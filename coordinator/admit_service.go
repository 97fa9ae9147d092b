package coordinator

import (
	"fmt"

	"github.com/rookery-project/rookery/coordinator/operation"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// admitService decides a command to a service: it accepts the command, or returns an error that says why not.
func (t *Turn) admitService(r events.Request, id events.ServiceID) error {
	changes, err := t.changes(id, r.Command)
	if err != nil && !mayComeLater(t.Cluster.Services[id], r.Command, err) {
		return err
	}
	if verbs[r.Command.Kind()].atOnce {
		t.atOnce(r, changes...)
		return nil
	}
	return t.accept(r, id, guard(r.Command).Busy, changes)
}

// unseen returns an error if the service has changed since the sequence that the client has seen. It returns nil if the client
// gave none.
func (t *Turn) unseen(id events.ServiceID, seen uint64) error {
	if seen == 0 {
		return nil
	}
	if s := t.Cluster.Services[id]; s != nil && s.Changed > seen {
		return events.Reject(events.CodeChanged, "if_seq",
			"service %s was changed at sequence %d of the log, after %d: read it again, and send the command for that state", id, s.Changed, seen)
	}
	if t.Cluster.Services[id] == nil && t.Cluster.DroppedAt > seen {
		return events.Reject(events.CodeChanged, "if_seq",
			"service %s does not exist, and a service was dropped at sequence %d of the log, after %d: read again, and send the command for that state",
			id, t.Cluster.DroppedAt, seen)
	}
	return nil
}

// changes returns the events by which the command changes the service's target, or an error that says why it may not.
func (t *Turn) changes(id events.ServiceID, command events.Command) ([]events.Data, error) {
	if err := t.unseen(id, guard(command).IfSeq); err != nil {
		return nil, err
	}
	if c, is := command.(events.ServiceEnsure); is {
		if err := t.knows(c.Spec); err != nil {
			return nil, err
		}
	}
	s := t.Cluster.Services[id]
	if err := whileSuspended(s, command); err != nil {
		return nil, err
	}
	v := verbs[command.Kind()]
	if g := t.Cluster.GroupOf(id); s == nil && g != nil && !v.creates {
		return nil, events.Reject(events.CodeNotFound, "subject",
			"there is no service %s yet: group %s (command %d) has not reached it; cancel the group, or wait for its end", id, g.ID, g.Command)
	}
	if s == nil && !v.creates {
		return nil, events.Reject(events.CodeNotFound, "subject", "there is no service %s: create it with ensure", id)
	}
	return v.changes(t, s, command)
}

func (t *Turn) ensure(s *projections.Service, c events.ServiceEnsure) ([]events.Data, error) {
	revision, hash, scale := uint64(0), "", uint32(1)
	if s != nil {
		revision, hash, scale = s.Revision, s.Current().Hash, s.Scale
	}
	switch {
	case c.Global():
		scale = uint32(len(t.Cluster.Nodes)) // an upper bound: follow sets the exact number when it reconciles the service
	case c.IsJob():
		scale = c.Jobs().Completions
	case c.Scale != nil:
		scale = uint32(*c.Scale)
	}
	if err := c.CheckScale(scale); err != nil {
		return nil, err
	}
	var changes []events.Data
	if next := c.Hash(); hash != next || s.Dropped {
		revised := events.ServiceRevised{Revision: revision + 1, Spec: c.Spec, Hash: next}
		if s != nil && replacesNothing(s, c.Spec) {
			revised.Of, revised.Keeps = revision, stays(s)
		}
		changes = append(changes, revised)
	} else if op := s.Operation; op != nil && op.Paused != "" {
		changes = append(changes, t.caseOf(s).Resume()...)
	}
	switch {
	case c.Global():
	case s == nil:
		changes = append(changes, events.ServiceScaled{Scale: scale})
	default:
		changes = append(changes, operation.Scaled(t.Cluster, s, &c.Spec, scale)...)
	}
	return changes, nil
}

func (t *Turn) scale(s *projections.Service, c events.ServiceScale) ([]events.Data, error) {
	if s.Dropped {
		return nil, gone(s)
	}
	if s.Current().Spec.Global() {
		return nil, events.Reject(events.CodeInvalidValue, "scale",
			"service %s is global and has one instance on each node: select the nodes with node_selector or zones instead", s.ID)
	}
	if s.Job != nil {
		return nil, events.Reject(events.CodeInvalidValue, "scale",
			"service %s is a job, which has no scale: set job.completions and job.parallelism with ensure, which runs it again", s.ID)
	}
	scale := uint32(*c.Scale)
	if err := s.Current().Spec.CheckScale(scale); err != nil {
		return nil, err
	}
	if op := s.Operation; s.Topology != nil && op != nil && op.Paused != "" && scale != s.Scale {
		return nil, events.Reject(events.CodeInvalidValue, "scale",
			"the %s of service %s is paused, and its topology cannot change before that ends: send its spec again to continue, or roll it back",
			op.Kind, s.ID)
	}
	return operation.Scaled(t.Cluster, s, &s.Current().Spec, scale), nil
}

func drop(s *projections.Service) []events.Data {
	if s.Dropped {
		return nil
	}
	return []events.Data{events.ServiceDropped{}}
}

func gone(s *projections.Service) error {
	return events.Reject(events.CodeNotFound, "subject", "service %s is being dropped: create it again with ensure", s.ID)
}

// accept makes the command the service's holder and makes the changes that it asks for. If other commands have not ended, the
// policy decides: the command waits behind them, supersedes them, or is rejected as busy.
func (t *Turn) accept(r events.Request, id events.ServiceID, policy events.BusyPolicy, changes []events.Data) error {
	holder, queue := t.Cluster.HolderOf(id), t.Cluster.Queues[id]
	switch busy := holder != 0 || len(queue) > 0; {
	case !busy:
	case policy == events.BusySupersede:
		t.supersede(r, unended(holder, queue), []events.ServiceID{id})
	case policy == events.BusyQueue && len(queue) < events.MaxQueued:
		return t.queue(r, holder, queue)
	default:
		return t.busy(id, holder, queue, policy)
	}
	t.accepted(r, changes)
	return nil
}

// supersede ends each of the commands that have not ended. If one is of a group, the group's services go back, except those in
// taken.
func (t *Turn) supersede(r events.Request, sequences []uint64, taken []events.ServiceID) {
	cause := t.cause
	for _, sequence := range sequences {
		earlier := t.Cluster.Commands[sequence]
		t.cause = t.cause.Of(earlier.Cause)
		t.dissolve(t.Cluster.Groups[sequence], events.GroupSuperseded, taken)
		t.emit(earlier.Scope(), events.CommandSuperseded{Sequence: sequence, By: r.Sequence})
	}
	t.cause = cause
}

// unended returns a service's commands that have not ended, in the order in which they arrived.
func unended(holder uint64, queue []events.CommandQueued) []uint64 {
	var sequences []uint64
	if holder != 0 {
		sequences = append(sequences, holder)
	}
	for _, q := range queue {
		sequences = append(sequences, q.Sequence)
	}
	return sequences
}

// busy returns the error that names the command that holds the service.
func (t *Turn) busy(id events.ServiceID, holder uint64, queue []events.CommandQueued, policy events.BusyPolicy) error {
	if holder == 0 {
		holder = queue[0].Sequence
	}
	verb := t.Cluster.Commands[holder].Verb
	if g := t.Cluster.Groups[holder]; g != nil {
		verb += " of group " + g.ID.String()
	}
	e := &busyError{whom: "service " + id.String(), holder: holder, verb: verb, full: policy == events.BusyQueue}
	if s := t.Cluster.Services[id]; s != nil {
		e.promote = s.Operation.AwaitsPromotion()
	}
	return e
}

// busyError names the command that holds the service or the group.
type busyError struct {
	whom    string
	holder  uint64
	verb    string
	full    bool // the queue is full
	alone   bool // the command cannot wait
	promote bool // the holder waits for a promotion
}

func (e *busyError) Error() string { return "the service is busy" }

func (e *busyError) rejection() *events.Rejection {
	state, end, others := "has not ended", "wait for its end", "queue or supersede"
	if e.promote {
		state, end = "waits for the promotion of its canaries", "promote or cancel it"
	}
	if e.full {
		state += ", and the queue behind it is full"
	}
	if e.alone || e.full {
		others = "supersede"
	}
	return &events.Rejection{
		Code: events.CodeBusy, Field: "busy",
		Reason: fmt.Sprintf("%s is busy with %s (command %d), which %s: %s, or set busy to %s", e.whom, e.verb, e.holder, state, end, others),
	}
}
