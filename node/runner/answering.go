package runner

import (
	"context"
	"time"

	"github.com/rookery-project/rookery/events"
)

// answered follows a listing, which the engine has answered or not. It tells the leader when the node becomes degraded, and when it
// no longer is.
func (a *Agent) answered(took time.Duration, err error) {
	before := a.answering.Degraded
	if err == nil {
		a.answering = a.answering.Answered()
	} else {
		a.answering = a.answering.Missed(err, took, a.AnswerTime)
	}
	switch after := a.answering.Degraded; {
	case before == "" && after != "":
		a.Log.Warn("the node is degraded: its engine does not answer", "error", after)
	case before != "" && after == "":
		a.Log.Info("the engine answers again")
	default:
		return
	}
	a.publisher.engine = true
}

// publishEngine publishes whether the engine is degraded, and why.
func (a *Agent) publishEngine(ctx context.Context) {
	p := &a.publisher
	p.engine = false
	p.counter++
	s := status{
		subject: events.EngineSubject(a.Name), counter: p.counter,
		data: events.EngineStatus{Counter: p.counter, Epoch: a.epoch, Degraded: a.answering.Degraded},
	}
	a.publish(ctx, []status{s}, func(err error) { p.engine = p.engine || err != nil })
}
