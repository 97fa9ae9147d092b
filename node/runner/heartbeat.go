package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// join introduces this process until the log has given it a node epoch.
func (a *Agent) join(ctx context.Context) error {
	waited := time.Now()
	for {
		sent, again := time.Now(), joinEvery
		answer, err := a.introduce(ctx)
		switch {
		case err == nil && answer.Superseded:
			return ErrSuperseded
		case err == nil && answer.Epoch > 0 && a.outdated(answer):
			again = a.Heartbeat
		case err == nil && answer.Epoch > 0:
			a.owner = node.Owner{Cluster: answer.Log, Node: a.Name}
			a.epoch, a.listed = answer.Epoch, answer.List
			a.heardAt(sent, answer.Orders)
			a.becomes(answer)
			return nil
		}
		if err != nil && ctx.Err() == nil && time.Since(waited) > bus.CallTimeout {
			waited = time.Now()
			a.Log.Warn("waiting for a coordinator", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// introduce asks whether the log knows this process, and says hello if it does not.
func (a *Agent) introduce(ctx context.Context) (events.HeartbeatAnswer, error) {
	answer, err := a.ask(ctx)
	if err == nil && answer.Log == "" {
		err = errors.New("the coordinator has no cluster yet")
	}
	if err != nil || answer.Epoch > 0 || answer.Superseded {
		return answer, err
	}
	hello, err := events.Encode(events.HelloSubject(a.Name), events.Hello{Incarnation: a.Incarnation, NodeFacts: a.Facts},
		a.attributes(a.told("hello")))
	if err != nil {
		return answer, err
	}
	return answer, a.store(ctx, hello)
}

// outdated reports whether the cluster is at a level at which this program does not work, and says so. Until it is replaced by another version
// it leaves all containers as they are.
func (a *Agent) outdated(answer events.HeartbeatAnswer) bool {
	advice := a.Program.Levels.Advice(answer.Level)
	if advice != "" && answer.Level != a.refused {
		a.Log.Error("the node does nothing until another version of this program runs here", "node", a.Name, "advice", advice, "version", a.Program.Version)
	}
	a.refused = answer.Level
	return advice != ""
}

func (a *Agent) attributes(id string) events.Attributes {
	return events.Attributes{ID: a.Incarnation + "/" + id, Source: "/rookery/node/" + a.Name, Time: a.Now(), Program: a.Program}
}

// told returns an id that is unique among this process's messages of this name.
func (a *Agent) told(name string) string {
	return name + "/" + strconv.FormatUint(a.tellings.Add(1), 10)
}

// ask sends one heartbeat.
func (a *Agent) ask(ctx context.Context) (events.HeartbeatAnswer, error) {
	beat, err := events.Encode(events.HeartbeatSubject(a.Name), events.Heartbeat{Incarnation: a.Incarnation}, a.attributes(a.told("beat")))
	if err != nil {
		return events.HeartbeatAnswer{}, err
	}
	call, cancel := context.WithTimeout(ctx, min(bus.CallTimeout, a.Heartbeat))
	defer cancel()
	sent := time.Now()
	m, err := a.Bus.Request(call, beat)
	a.meters.beaten(ctx, time.Since(sent), err)
	if err != nil {
		return events.HeartbeatAnswer{}, err
	}
	answer, _, err := events.DecodeAs[events.HeartbeatAnswer](m)
	return answer, err
}

// beat asks the leader whether this process is still the node of its name. The next heartbeat is due an interval after the start of
// this one, but not before its end.
func (a *Agent) beat(ctx context.Context) {
	sent := time.Now()
	a.beside(ctx, func() func() {
		answer, err := a.introduce(ctx)
		return func() {
			a.alarms[alarmBeat] = sent.Add(a.beatEvery())
			if err != nil {
				a.Log.Debug("no answer to a heartbeat", "error", err)
				return
			}
			a.failure = a.heed(ctx, answer, sent)
		}
	})
}

// heed follows the answer to the heartbeat that the node sent at this time. It returns an error if this process must stop acting.
func (a *Agent) heed(ctx context.Context, answer events.HeartbeatAnswer, sent time.Time) error {
	switch {
	case answer.Superseded:
		return fmt.Errorf("node %s: %w: give each machine a name of its own", a.Name, ErrSuperseded)
	case answer.Log != a.owner.Cluster:
		return fmt.Errorf("node %s: %w: %q, not %q; restart the node to join it", a.Name, ErrOtherCluster, answer.Log, a.owner.Cluster)
	case answer.Epoch == 0:
		return nil // the hello is on its way
	case a.outdated(answer):
		return errOutdated
	}
	if answer.Epoch != a.epoch {
		a.becomes(answer)
		a.reading.told, a.reading.again = answer.Orders, true // the reading compares each order with the machine's node epoch
	}
	a.relist = a.relist || answer.Epoch != a.epoch || answer.List != a.listed
	// Another leader may use another stream of orders, whose sequences and counter are not comparable with the earlier ones.
	a.reading.stale = a.reading.stale || answer.List != a.listed
	a.epoch, a.listed = answer.Epoch, answer.List
	if answer.Degraded != (a.answering.Degraded != "") {
		a.publisher.engine = true // the status was lost, or the log has been restored since
	}
	// An order that this answer counts may be on its way. One that the answer before has counted is lost.
	if a.counter < a.hearing.orders || a.reading.stale {
		a.reading.told = answer.Orders
		a.reading.again = true
	}
	a.heardAt(sent, answer.Orders)
	a.readAgain(ctx)
	return nil
}
