package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// join introduces this process until the log has given it a node epoch.
func (a *Agent) join(ctx context.Context) error {
	waited := time.Now()
	for {
		answer, err := a.introduce(ctx)
		switch {
		case err == nil && answer.Superseded:
			return ErrSuperseded
		case err == nil && answer.Epoch > 0:
			a.mu.Lock()
			a.owner = node.Owner{Cluster: answer.Log, Node: a.Name}
			a.epoch, a.listed = answer.Epoch, answer.List
			a.mu.Unlock()
			return nil
		}
		if err != nil && ctx.Err() == nil && time.Since(waited) > callTimeout {
			waited = time.Now()
			a.Log.Warn("waiting for a coordinator", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(joinEvery):
		}
	}
}

// introduce asks whether the log knows this process, and says hello where it does not.
func (a *Agent) introduce(ctx context.Context) (events.HeartbeatAnswer, error) {
	answer, err := a.ask(ctx)
	if err == nil && answer.Log == "" {
		err = errors.New("the coordinator has no cluster yet")
	}
	if err != nil || answer.Epoch > 0 || answer.Superseded {
		return answer, err
	}
	hello, err := events.Encode(events.HelloSubject(a.Name), events.Hello{Incarnation: a.incarnation, NodeFacts: a.Facts},
		a.attributes("hello"))
	if err != nil {
		return answer, err
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = a.Bus.Publish(call, hello)
	return answer, err
}

func (a *Agent) attributes(id string) events.Attributes {
	return events.Attributes{ID: a.incarnation + "/" + id, Source: "/rookery/node/" + a.Name, Time: time.Now()}
}

// ask sends one heartbeat.
func (a *Agent) ask(ctx context.Context) (events.HeartbeatAnswer, error) {
	beat, err := events.Encode(events.HeartbeatSubject(a.Name), events.Heartbeat{Incarnation: a.incarnation}, a.attributes("beat"))
	if err != nil {
		return events.HeartbeatAnswer{}, err
	}
	call, cancel := context.WithTimeout(ctx, min(callTimeout, a.Heartbeat))
	defer cancel()
	m, err := a.Bus.Request(call, beat)
	if err != nil {
		return events.HeartbeatAnswer{}, err
	}
	answer, _, err := events.DecodeAs[events.HeartbeatAnswer](m)
	return answer, err
}

// beat asks the leader from time to time, and does what its answers call for.
func (a *Agent) beat(ctx context.Context, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(a.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		answer, err := a.introduce(ctx)
		if err != nil {
			if ctx.Err() == nil {
				a.Log.Debug("no answer to a heartbeat", "error", err)
			}
			continue
		}
		if err := a.heed(ctx, answer); err != nil {
			cancel(err)
			return
		}
	}
}

// heed follows a heartbeat's answer. It returns an error where this process must stop acting.
func (a *Agent) heed(ctx context.Context, answer events.HeartbeatAnswer) error {
	switch {
	case answer.Superseded:
		return fmt.Errorf("node %s: %w: give each machine a name of its own", a.Name, ErrSuperseded)
	case answer.Log != a.owner.Cluster:
		return fmt.Errorf("node %s: %w: %q, not %q; start the node anew to join it", a.Name, ErrOtherCluster, answer.Log, a.owner.Cluster)
	case answer.Epoch == 0:
		return nil // the hello is on its way
	}
	a.mu.Lock()
	relist := answer.Epoch != a.epoch || answer.List != a.listed
	behind := answer.Orders != a.counter
	a.epoch, a.listed = answer.Epoch, answer.List
	a.mu.Unlock()
	if behind {
		if err := a.catchUp(ctx); err != nil {
			return a.warn(ctx, "cannot catch up with orders", err)
		}
		a.mu.Lock()
		a.counter = max(a.counter, answer.Orders) // those of instances that are gone stand in the stream no more
		a.mu.Unlock()
	}
	if relist {
		a.publisher.relist()
	}
	return nil
}

// warn logs an error that the next heartbeat makes good.
func (a *Agent) warn(ctx context.Context, what string, err error) error {
	if ctx.Err() == nil {
		a.Log.Warn(what, "error", err)
	}
	return nil
}
