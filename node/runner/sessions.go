package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
	"github.com/rookery-project/rookery/node"
)

// How many sessions of each kind a node serves at once. Each may take a session's window of memory and a connection to the engine. A
// client that reads a service's output has one session for each instance, so a few clients can read all instances of a full node.
const (
	maxLogs  = 512
	maxExecs = 32
)

// serveSessions lets clients read the output of instances and run commands in them, until the caller calls stop, which ends all
// sessions. Sessions do not use the loop's state.
func (a *Agent) serveSessions() (stop func(), err error) {
	return bus.Begin(
		func() (func(), error) {
			return session.Serve(a.Bus, a.sessionSubjects(events.SessionLogs), maxLogs, a.serveLogs)
		},
		func() (func(), error) {
			return session.Serve(a.Bus, a.sessionSubjects(events.SessionExec), maxExecs, a.serveExec)
		},
	)
}

// sessionSubjects match where sessions are opened. Where accounts are on, that is where the subject has the user.
func (a *Agent) sessionSubjects(kind events.SessionKind) []string {
	by, plain := events.SessionSubjects(a.Name, kind)
	if a.Bus.User() != "" {
		return []string{by}
	}
	return []string{by, plain}
}

// sought returns the container of the instance that the session is for, once the session is recorded.
func (a *Agent) sought(ctx context.Context, opened events.Message) (node.Container, error) {
	user, kind, id, ok := events.ParseSessionSubject(opened.Subject)
	if !ok {
		return node.Container{}, &bus.QuestionError{Code: 400, Reason: "the subject names no instance: end it with <namespace>.<name>.<ordinal>.<generation>"}
	}
	ctx, cancel := context.WithTimeout(ctx, a.AnswerTime)
	defer cancel()
	c, err := a.Engine.Inspect(ctx, a.owner, id)
	if err != nil {
		return node.Container{}, &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("the engine of node %s does not answer: %v", a.Name, err)}
	}
	if c == nil {
		return node.Container{}, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("node %s has no container of %s: not created yet, or removed", a.Name, id)}
	}
	if user != "" {
		err = a.record(opener{user, kind, id})
	}
	return *c, err
}

// opener is who opens sessions of a kind with an instance.
type opener struct {
	user     string
	kind     events.SessionKind
	instance events.InstanceID
}

// recorded are those whose session was recorded lately.
type recorded struct {
	mu   sync.Mutex
	last map[opener]time.Time
}

const (
	// recordAgain is how long after a session was recorded the next one like it is not: one that follows a log connects again and again.
	recordAgain = time.Minute
	// mostRecorded is how many are remembered.
	mostRecorded = 10_000
)

// due reports whether a session must be recorded.
func (r *recorded) due(o opener, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.last[o]
	return !known || now.Sub(last) >= recordAgain
}

func (r *recorded) note(o opener, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) >= mostRecorded {
		maps.DeleteFunc(r.last, func(_ opener, last time.Time) bool { return now.Sub(last) >= recordAgain })
	}
	if r.last == nil || len(r.last) >= mostRecorded {
		r.last = map[opener]time.Time{}
	}
	r.last[o] = now
}

// record says that a user opens a session, once a minute for sessions that are alike. One that cannot be recorded does not begin.
func (a *Agent) record(o opener) error {
	now := a.Now()
	if !a.recorded.due(o, now) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), bus.CallTimeout)
	defer cancel()
	m, err := events.Encode(events.SessionStatusSubject(a.Name), events.SessionStatus{
		Namespace: o.instance.Service.Namespace, Name: o.instance.Service.Name, Ordinal: o.instance.Ordinal, Generation: o.instance.Generation,
		Session: o.kind, User: o.user,
	}, a.attributes(a.told("session")))
	if err == nil {
		_, err = a.Bus.Publish(ctx, m)
	}
	if err != nil {
		return &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("the session is not recorded, and does not begin: %v", err)}
	}
	a.recorded.note(o, now)
	return nil
}

// told returns the error for the client that opened the session.
func told(err error) error {
	var known *bus.QuestionError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &bus.QuestionError{Code: 500, Reason: err.Error()}
}
