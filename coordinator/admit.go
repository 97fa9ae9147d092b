package coordinator

import (
	"errors"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// commandsStream is the name that commands' causes carry.
const commandsStream = "ROOKERY_COMMANDS"

// Command gives a command its outcome: accepted, rejected or repeated. An accepted command changes the target at once; Look
// then brings the instances there.
func (t *Turn) Command(r events.Request) {
	t.at(events.Unit{Work: events.WorkCommand, Scope: r.Scope, Sequence: r.Sequence})
	t.reserve(MaxPerInput)
	t.cause = t.causedBy(r)
	t.cause.TraceParent = r.TraceParent
	if known := t.Cluster.Commands[r.Sequence]; known != nil && known.Digest == r.Digest {
		return // already decided: the inbox was restored, so the leader reads it again
	}
	if err := t.sent(r); err != nil {
		t.reject(r, err)
		return
	}
	if r.ID != "" {
		if known := t.Cluster.KnownID(t.cause.Actor, r.Source, r.ID); known != nil {
			t.again(r, known)
			return
		}
	}
	if err := t.admit(r); err != nil {
		t.reject(r, err)
	}
}

// causedBy returns the cause of what a command leads to. Where accounts are off, nothing holds a sender to its name.
func (t *Turn) causedBy(r events.Request) events.Cause {
	c := events.Cause{Correlation: r.Sequence, Causation: events.CauseOf(commandsStream, r.Sequence)}
	if t.Cluster.Accounts {
		c.Actor = r.Actor
	}
	return c
}

// sent returns an error unless the subject names the user exactly where accounts are on.
func (t *Turn) sent(r events.Request) error {
	switch {
	case t.Cluster.Accounts && r.Actor == "":
		return events.Reject(events.CodeUnknownSubject, "subject",
			"accounts are on here, and the subject does not say who sends the command: publish to %s", events.CommandBy("<user>", events.CommandRoot+".…"))
	case !t.Cluster.Accounts && r.Actor != "":
		return events.Reject(events.CodeUnknownSubject, "subject",
			"accounts are off here, so that nothing holds a sender to a name below %s.by: publish to %s.service.<namespace>.<name>.<verb>", events.CommandRoot, events.CommandRoot)
	}
	return nil
}

// again answers a command whose id the coordinator has seen before: with the same body it repeats the first, with another it is
// an error.
func (t *Turn) again(r events.Request, known *projections.Command) {
	if known.Digest == r.Digest {
		t.emit(r.Scope, events.CommandRepeated{Sequence: r.Sequence, Of: known.Sequence})
		return
	}
	t.reject(r, events.Reject(events.CodeIDReused, "id",
		"id %q from %q is that of command %d, which had another subject or body: give each command an id of its own",
		r.ID, r.Source, known.Sequence))
}

// Refuse rejects a command that the coordinator cannot decide because of a defect in itself.
func (t *Turn) Refuse(r events.Request, why string) {
	t.Working = events.Unit{Work: events.WorkCommand, Scope: r.Scope, Sequence: r.Sequence}
	t.cause = t.causedBy(r)
	t.reject(r, events.Reject(events.CodeInternal, "", "deciding this command failed inside the coordinator: %s", why))
}

func (t *Turn) reject(r events.Request, err error) {
	rejected := events.CommandRejected{CommandIdentity: r.Identity()}
	var busy *busyError
	var rejection *events.Rejection
	switch {
	case errors.As(err, &busy):
		rejected.Rejection, rejected.Holder = *busy.rejection(), busy.holder
	case errors.As(err, &rejection):
		rejected.Rejection = *rejection
	default:
		rejected.Rejection = events.Rejection{Code: events.CodeInternal, Reason: err.Error()}
	}
	t.emit(r.Scope, rejected)
}

func (t *Turn) admit(r events.Request) error {
	if r.Rejection != nil {
		return r.Rejection
	}
	if id, ok := r.Scope.Service(); ok {
		return t.admitService(r, id)
	}
	return admissions[r.Command.Kind()](t, r)
}

// atOnce accepts a command that these changes complete, and ends it as succeeded.
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
