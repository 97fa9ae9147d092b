package api

import (
	"context"
	"testing"

	"github.com/rookery-project/rookery/events/bus"
)

func TestQuestionsAboutThePastAreRefusedWhereTooManyWait(t *testing.T) {
	t.Parallel()
	c := New(Config{Name: "test"})
	ended, end := context.WithCancel(t.Context())
	hold := make(chan struct{})
	working, answered := make(chan struct{}), make(chan error)
	ask := func(ctx context.Context) {
		_, err := c.inTurn(ctx, c.past, func(context.Context) ([]byte, error) { working <- struct{}{}; <-hold; return nil, nil })
		answered <- err
	}
	for range pastAtOnce {
		go ask(t.Context())
		<-working
	}
	for range pastWaiting { // a place of those that wait each
		c.past.present <- struct{}{}
	}
	if _, err := c.askDiff(t.Context(), []byte(`{"from":1}`)); bus.CodeOf(err) != 429 {
		t.Errorf("with all places taken: %v, want 429", err)
	}
	if done, err := c.plans.take(t.Context()); err != nil {
		t.Errorf("a plan waits for the past: %v", err)
	} else {
		done()
	}
	<-c.past.present // one of them leaves
	go ask(ended)
	end()
	if err := <-answered; bus.CodeOf(err) != 503 {
		t.Errorf("who waited to the end: %v, want 503", err)
	}
	close(hold)
	for range pastAtOnce {
		if err := <-answered; err != nil {
			t.Error(err)
		}
	}
	if inside, waiting := len(c.past.inside), len(c.past.present); inside != 0 || waiting != pastWaiting-1 {
		t.Errorf("%d are inside and %d are present in the end, want 0 and %d", inside, waiting, pastWaiting-1)
	}
}
