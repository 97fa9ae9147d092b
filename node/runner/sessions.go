package runner

import (
	"context"
	"errors"
	"fmt"

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
			return session.Serve(a.Bus, events.SessionSubjects(a.Name, events.SessionLogs), maxLogs, a.serveLogs)
		},
		func() (func(), error) {
			return session.Serve(a.Bus, events.SessionSubjects(a.Name, events.SessionExec), maxExecs, a.serveExec)
		},
	)
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
		err = a.record(user, kind, id)
	}
	return *c, err
}

// record says that the user opens a session. One that cannot be recorded does not begin.
func (a *Agent) record(user string, kind events.SessionKind, id events.InstanceID) error {
	ctx, cancel := context.WithTimeout(context.Background(), bus.CallTimeout)
	defer cancel()
	m, err := events.Encode(events.SessionStatusSubject(a.Name), events.SessionStatus{
		Namespace: id.Service.Namespace, Name: id.Service.Name, Ordinal: id.Ordinal, Generation: id.Generation, Session: kind, User: user,
	}, a.attributes(a.told("session")))
	if err == nil {
		_, err = a.Bus.Publish(ctx, m)
	}
	if err != nil {
		return &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("the session is not recorded, and does not begin: %v", err)}
	}
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
