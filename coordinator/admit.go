package coordinator

import (
	"errors"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// commandsStream is the name that commands' causes carry.
const commandsStream = "ROOKERY_COMMANDS"

// Command gives a command its outcome: accepted, rejected or repeated. What an accepted one asks for is desired from
// here on; Look finds the way there.
func (t *Turn) Command(r events.Request) {
	t.cause = events.Cause{
		Correlation: r.Sequence,
		Causation:   events.CauseOf(commandsStream, r.Sequence),
		TraceParent: r.TraceParent,
	}
	if known := t.Cluster.Commands[r.Sequence]; known != nil && known.Digest == r.Digest {
		return // it is decided: the inbox was restored and is read again
	}
	if r.ID != "" {
		if known := t.Cluster.KnownID(r.Source, r.ID); known != nil {
			t.again(r, known)
			return
		}
	}
	if r.Rejection != nil {
		t.reject(r, r.Rejection)
		return
	}
	if err := t.admit(r); err != nil {
		t.reject(r, err)
	}
}

// again answers a command whose id was seen before: the same body repeats the first, another one is an error.
func (t *Turn) again(r events.Request, known *projections.Command) {
	if known.Digest == r.Digest {
		t.emit(r.Scope, events.CommandRepeated{Sequence: r.Sequence, Of: known.Sequence})
		return
	}
	t.reject(r, events.Reject(events.CodeIDReused, "id",
		"id %q from %q is that of command %d, which had another subject or body: give each command an id of its own",
		r.ID, r.Source, known.Sequence))
}

// Refuse rejects a command that cannot be decided because of a defect of ours.
func (t *Turn) Refuse(r events.Request, why string) {
	t.cause = events.Cause{Correlation: r.Sequence, Causation: events.CauseOf(commandsStream, r.Sequence)}
	t.reject(r, events.Reject(events.CodeInternal, "", "deciding this command failed inside the coordinator: %s", why))
}

func (t *Turn) reject(r events.Request, err error) {
	rejected := events.CommandRejected{CommandIdentity: r.Identity()}
	var busy *busyError
	var rejection *events.Rejection
	switch {
	case errors.As(err, &busy):
		rejected.Rejection, rejected.Holder = *busy.rejection(r), busy.holder
	case errors.As(err, &rejection):
		rejected.Rejection = *rejection
	default:
		rejected.Rejection = events.Rejection{Code: events.CodeInternal, Reason: err.Error()}
	}
	t.emit(r.Scope, rejected)
}

func (t *Turn) admit(r events.Request) error {
	id, _ := r.Scope.Service()
	s := t.Cluster.Services[id]
	switch c := r.Command.(type) {
	case events.ServiceEnsure:
		return t.ensure(r, s, c)
	case events.ServiceScale:
		return t.scale(r, s, c)
	case events.ServiceDrop:
		return t.drop(r, s)
	case events.NodePause:
		return t.pause(r)
	case events.NodeResume:
		return t.resume(r)
	case events.NodeUpdate:
		return t.update(r, c)
	case events.ClusterPolicy:
		return t.policy(r, c)
	case events.ClusterNodes:
		return t.allow(r, c)
	case events.ClusterRebalance:
		t.askRebalance(r, c)
		return nil
	}
	return events.Reject(events.CodeUnknownVerb, "subject", "%q is no command", r.Verb)
}

func (t *Turn) ensure(r events.Request, s *projections.Service, c events.ServiceEnsure) error {
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
		return err
	}
	var changes []events.Data
	if next := c.Hash(); hash != next || s.Dropped {
		changes = append(changes, events.ServiceRevised{Revision: revision + 1, Spec: c.Spec, Hash: next})
	}
	if !c.Global() && (s == nil || s.Scale != scale) {
		changes = append(changes, events.ServiceScaled{Scale: scale})
	}
	return t.accept(r, s, c.Busy, changes)
}

func (t *Turn) scale(r events.Request, s *projections.Service, c events.ServiceScale) error {
	if s == nil || s.Dropped {
		return notFound(r)
	}
	if s.Current().Spec.Global() {
		return events.Reject(events.CodeInvalidValue, "scale",
			"service %s is global, with one instance on each node: say with node_selector or zones on which", s.ID)
	}
	if s.Job != nil {
		return events.Reject(events.CodeInvalidValue, "scale",
			"service %s is a job, which has no scale: say job.completions and job.parallelism with ensure, which begins anew", s.ID)
	}
	scale := uint32(*c.Scale)
	if err := s.Current().Spec.CheckScale(scale); err != nil {
		return err
	}
	var changes []events.Data
	if s.Scale != scale {
		changes = append(changes, events.ServiceScaled{Scale: scale})
	}
	return t.accept(r, s, c.Busy, changes)
}

func (t *Turn) drop(r events.Request, s *projections.Service) error {
	if s == nil {
		return notFound(r)
	}
	var changes []events.Data
	if !s.Dropped {
		changes = append(changes, events.ServiceDropped{})
	}
	return t.accept(r, s, events.BusySupersede, changes)
}

func notFound(r events.Request) error {
	id, _ := r.Scope.Service()
	return events.Reject(events.CodeNotFound, "subject", "there is no service %s: create it with ensure", id)
}

// accept makes the command the service's holder, ending an earlier one where the policy says so, and makes the changes
// that it asks for.
func (t *Turn) accept(r events.Request, s *projections.Service, policy events.BusyPolicy, changes []events.Data) error {
	holder := uint64(0)
	if s != nil {
		holder = s.Holder
	}
	if holder != 0 && policy != events.BusySupersede {
		return &busyError{holder: holder, verb: t.Cluster.Commands[holder].Verb}
	}
	if holder != 0 {
		cause := t.cause
		earlier := t.Cluster.Commands[holder]
		t.cause.Correlation, t.cause.TraceParent = earlier.Sequence, earlier.Cause.TraceParent
		t.emit(r.Scope, events.CommandSuperseded{Sequence: holder, By: r.Sequence})
		t.cause = cause
	}
	t.accepted(r, changes)
	return nil
}

// atOnce accepts a command that is done with these changes, and has it succeed.
func (t *Turn) atOnce(r events.Request, changes ...events.Data) {
	t.accepted(r, changes)
	t.emit(r.Scope, events.CommandSucceeded{Sequence: r.Sequence})
}

// accepted accepts the command, and makes the changes that it asks for.
func (t *Turn) accepted(r events.Request, changes []events.Data) {
	t.emit(r.Scope, events.CommandAccepted{CommandIdentity: r.Identity(), Unchanged: len(changes) == 0})
	for _, change := range changes {
		t.emit(r.Scope, change)
	}
}

// busyError says which command holds the service.
type busyError struct {
	holder uint64
	verb   string
}

func (e *busyError) Error() string { return "the service is busy" }

func (e *busyError) rejection(r events.Request) *events.Rejection {
	id, _ := r.Scope.Service()
	return &events.Rejection{
		Code: events.CodeBusy, Field: "busy",
		Reason: "service " + id.String() + " is busy with " + e.verb + " (command " + utoa(e.holder) +
			`), which has not ended: wait for its end, or send "busy":"supersede"`,
	}
}
