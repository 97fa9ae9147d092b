package coordinator

import (
	"github.com/rookery-project/rookery/coordinator/operation"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// admitService takes a command to a service, or says why not.
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

// unseen says what has changed since the sequence that the sender has seen; nil for nothing, or where it did not say.
func (t *Turn) unseen(id events.ServiceID, seen uint64) error {
	if seen == 0 {
		return nil
	}
	if s := t.Cluster.Services[id]; s != nil && s.Changed > seen {
		return events.Reject(events.CodeChanged, "if_seq",
			"service %s was changed at sequence %d of the log, after %d: look at it again, and send what is to be done then", id, s.Changed, seen)
	}
	if t.Cluster.Services[id] == nil && t.Cluster.DroppedAt > seen {
		return events.Reject(events.CodeChanged, "if_seq",
			"service %s does not exist, and one was dropped at sequence %d of the log, after %d: look again, and send what is to be done then",
			id, t.Cluster.DroppedAt, seen)
	}
	return nil
}

// changes returns what the command changes of what the service shall be, as it is now, or why it may not.
func (t *Turn) changes(id events.ServiceID, command events.Command) ([]events.Data, error) {
	if err := t.unseen(id, guard(command).IfSeq); err != nil {
		return nil, err
	}
	s := t.Cluster.Services[id]
	if err := whileSuspended(s, command); err != nil {
		return nil, err
	}
	v := verbs[command.Kind()]
	if g := t.Cluster.GroupOf(id); s == nil && g != nil && !v.creates {
		return nil, events.Reject(events.CodeNotFound, "subject",
			"there is no service %s yet: group %s has not come to it (command %d); cancel that, or wait for its end", id, g.ID, g.Command)
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
		scale = uint32(len(t.Cluster.Nodes)) // at most: what it has follows once it is looked at
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
			"service %s is global, with one instance on each node: say with node_selector or zones on which", s.ID)
	}
	if s.Job != nil {
		return nil, events.Reject(events.CodeInvalidValue, "scale",
			"service %s is a job, which has no scale: say job.completions and job.parallelism with ensure, which begins anew", s.ID)
	}
	scale := uint32(*c.Scale)
	if err := s.Current().Spec.CheckScale(scale); err != nil {
		return nil, err
	}
	if op := s.Operation; s.Topology != nil && op != nil && op.Paused != "" && scale != s.Scale {
		return nil, events.Reject(events.CodeInvalidValue, "scale",
			"the %s of service %s is paused, and its topology cannot change before that has ended: send its spec again to go on, or roll it back",
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
	return events.Reject(events.CodeNotFound, "subject", "service %s is being dropped: create it anew with ensure", s.ID)
}

// accept makes the command the service's holder, or has it wait behind those that have not ended, or ends those, as the
// policy says, and makes the changes that it asks for.
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

// supersede ends commands that have not ended, each for itself. Of groups the services that the request does not take go back.
func (t *Turn) supersede(r events.Request, sequences []uint64, taken []events.ServiceID) {
	cause := t.cause
	for _, sequence := range sequences {
		earlier := t.Cluster.Commands[sequence]
		t.cause.Correlation, t.cause.TraceParent = earlier.Sequence, earlier.Cause.TraceParent
		t.dissolve(t.Cluster.Groups[sequence], events.GroupSuperseded, taken)
		t.emit(earlier.Scope(), events.CommandSuperseded{Sequence: sequence, By: r.Sequence})
	}
	t.cause = cause
}

// unended returns the commands of a service that have not ended, in the order in which they came.
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

// busy says which command holds the service.
func (t *Turn) busy(id events.ServiceID, holder uint64, queue []events.CommandQueued, policy events.BusyPolicy) error {
	if holder == 0 {
		holder = queue[0].Sequence
	}
	verb := t.Cluster.Commands[holder].Verb
	if g := t.Cluster.Groups[holder]; g != nil {
		verb += " of group " + g.ID.String()
	}
	return &busyError{whom: "service " + id.String(), holder: holder, verb: verb, full: policy == events.BusyQueue}
}

// busyError says which command holds the service or the group.
type busyError struct {
	whom   string
	holder uint64
	verb   string
	full   bool // as many commands wait as may
	alone  bool // the command cannot wait
}

func (e *busyError) Error() string { return "the service is busy" }

func (e *busyError) rejection() *events.Rejection {
	advice := `wait for its end, or send "busy":"queue" or "busy":"supersede"`
	if e.alone {
		advice = `wait for its end, or send "busy":"supersede"`
	}
	if e.full {
		advice = "as many commands wait behind it as may: wait for its end, or send \"busy\":\"supersede\""
	}
	return &events.Rejection{
		Code: events.CodeBusy, Field: "busy",
		Reason: e.whom + " is busy with " + e.verb + " (command " + utoa(e.holder) + "), which has not ended: " + advice,
	}
}
