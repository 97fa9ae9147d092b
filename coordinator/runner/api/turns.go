package api

import (
	"context"
	"fmt"

	"github.com/rookery-project/rookery/events/bus"
)

// turns bounds how many questions are answered at once and how many wait for a turn. A waiting question also takes up one of the places for
// all questions.
type turns struct {
	inside  chan struct{} // one element for each question being answered
	present chan struct{} // one element for each of these and of those that wait
}

func newTurns(atOnce, waiting int) turns {
	return turns{inside: make(chan struct{}, atOnce), present: make(chan struct{}, atOnce+waiting)}
}

// take waits for a turn until ctx ends, and refuses at once if too many wait already. The holder of the turn must call done.
func (t turns) take(ctx context.Context) (done func(), err error) {
	select {
	case t.present <- struct{}{}:
	default:
		return nil, &bus.QuestionError{Code: 429, Reason: fmt.Sprintf(
			"%d questions of this kind are being answered here and %d wait: ask again later", cap(t.inside), cap(t.present)-cap(t.inside))}
	}
	select {
	case t.inside <- struct{}{}:
		return func() { <-t.inside; <-t.present }, nil
	case <-ctx.Done():
		<-t.present
		return nil, &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("%d questions of this kind are being answered here: ask again", cap(t.inside))}
	}
}
