package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Admission is what a coordinator needs to let nodes join.
type Admission struct {
	// User is the one that it connects as: it sends the commands that admit nodes.
	User string
	// Issue signs the credentials of a node for its key.
	Issue func(node string, key events.NodeKey, now time.Time) (events.JoinAnswer, error)
}

// admittedWithin is how long the command that admits a node may take, less than a host waits for the answer. admittedAgain is how often the answer looks for its outcome.
const (
	admittedWithin = 4 * time.Second
	admittedAgain  = 20 * time.Millisecond
)

// joinHandler answers nodes that ask to join, or for new credentials.
func (l *leader) joinHandler(ctx context.Context, ls *lease) func(events.Message) (events.Message, error) {
	return func(m events.Message) (events.Message, error) {
		call, cancel := context.WithTimeout(ctx, admittedWithin)
		defer cancel()
		answer, err := l.join(call, ls, m)
		if err != nil {
			return bus.Refuse(events.Message{}, err), nil
		}
		body, err := json.Marshal(answer)
		return events.Message{Header: events.Header{}, Body: body}, err
	}
}

func (l *leader) join(ctx context.Context, ls *lease, m events.Message) (answer events.JoinAnswer, err error) {
	var q events.JoinQuestion
	if err = json.Unmarshal(m.Body, &q); err == nil {
		err = q.Check()
	}
	switch {
	case err != nil:
		return answer, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("the question of a node that joins cannot be read: %v", err)}
	case l.Admission == nil:
		return answer, &bus.QuestionError{Code: 501, Reason: "the coordinator that leads has no keys to sign credentials with: start each with --admission"}
	case ls.expired():
		return answer, &bus.QuestionError{Code: 503, Reason: "another coordinator may lead by now: ask again"}
	}
	if answer, err = l.Admission.Issue(q.Node, q.Key, l.Now()); err != nil {
		return events.JoinAnswer{}, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("the key %s cannot be signed for: %v", q.Key, err)}
	}
	admit := events.NodeAdmit{Key: q.Key, Token: m.Subject[strings.LastIndex(m.Subject, ".")+1:], Former: q.Former}
	known, err := l.mayJoin(ctx, q.Node, admit)
	if err == nil && !known {
		err = l.admit(ctx, q.Node, admit)
	}
	if err != nil {
		return events.JoinAnswer{}, err
	}
	return answer, nil
}

// mayJoin decides on the present state, so that a question in vain leaves nothing in the log.
func (l *leader) mayJoin(ctx context.Context, name string, admit events.NodeAdmit) (known bool, err error) {
	asked := l.present(ctx, func(c *projections.Cluster, _ bool) { known, err = coordinator.MayJoin(c, name, admit, l.Now()) })
	return known, errors.Join(asked, refusal(err))
}

// refusal returns a rejection as the one who asks is told of it.
func refusal(err error) error {
	var rejection *events.Rejection
	switch {
	case !errors.As(err, &rejection):
		return err
	case rejection.Code == events.CodeNeedsApproval:
		return &bus.QuestionError{Code: 425, Reason: rejection.Reason}
	}
	return &bus.QuestionError{Code: 403, Reason: rejection.Reason}
}

// admit sends the command that admits the node, and returns its outcome.
func (l *leader) admit(ctx context.Context, name string, admit events.NodeAdmit) error {
	body, err := json.Marshal(admit)
	if err != nil {
		return err
	}
	subject := events.CommandRoot + "." + strings.Join([]string{"node", name, admit.Kind().Name}, ".")
	sequence, err := l.Bus.Publish(ctx, events.Message{Subject: events.CommandBy(l.Admission.User, subject), Header: events.Header{}, Body: body})
	if err != nil {
		return err
	}
	again := time.NewTicker(admittedAgain)
	defer again.Stop()
	for {
		var outcome projections.Outcome
		var why *events.Rejection
		if err := l.present(ctx, func(c *projections.Cluster, _ bool) {
			if cmd := c.Commands[sequence]; cmd != nil {
				outcome, why = cmd.Outcome, cmd.Rejection
			}
		}); err != nil {
			return err
		}
		switch {
		case why != nil:
			return refusal(why)
		case outcome == projections.Succeeded:
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("command %d, which admits the node, has no outcome yet: ask again", sequence)}
		}
	}
}
