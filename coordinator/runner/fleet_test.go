package runner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// TestMoreNodesFallSilentAndComeBackThanARoundHasEvents cuts off a whole fleet at once, and reconnects it.
func TestMoreNodesFallSilentAndComeBackThanARoundHasEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 2500
		b := memory.New(time.Now)
		told, err := b.Subscribe(events.EventRoot + ".node.>")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		defer start(t, b, "first")()
		for n := range nodes {
			join(t, b, nodeName(n))
		}
		wait(t, told, "joined", nodes)
		wait(t, told, "silent", nodes)
		for n := range nodes {
			if err := tryBeat(t, b, nodeName(n), "i"); !errors.Is(err, bus.ErrNoAnswer) {
				t.Fatalf("the heartbeat of a silent node got %v", err)
			}
		}
		wait(t, told, "returned", nodes)
	})
}

func nodeName(n int) string { return fmt.Sprintf("n%d", n) }

// join has a node introduce itself.
func join(t *testing.T, b bus.Bus, node string) {
	t.Helper()
	m, err := events.Encode(events.HelloSubject(node), events.Hello{Incarnation: "i", NodeFacts: events.NodeFacts{
		Address: "10.0.0.1", Ports: events.PortRange{First: 20_000, Last: 20_999}, EngineFacts: events.EngineFacts{Engine: "test"},
	}}, events.Attributes{ID: node, Source: "/test", Time: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func beat(t *testing.T, b bus.Bus, node string) {
	t.Helper()
	beatAs(t, b, node, "i")
}

// beatAs sends the heartbeat of a process under the node's name.
func beatAs(t *testing.T, b bus.Bus, node, incarnation string) {
	t.Helper()
	if err := tryBeat(t, b, node, incarnation); err != nil {
		t.Fatal(err)
	}
}

// tryBeat is beatAs where there may be no answer.
func tryBeat(t *testing.T, b bus.Bus, node, incarnation string) error {
	t.Helper()
	m, err := events.Encode(events.HeartbeatSubject(node), events.Heartbeat{Incarnation: incarnation}, events.Attributes{
		ID: node, Source: "/test", Time: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = b.Request(ctx, m)
	return err
}

// subscribed subscribes until the test ends.
func subscribed(t *testing.T, b bus.Bus, subject string) bus.Subscription {
	t.Helper()
	told, err := b.Subscribe(subject)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(told.Stop)
	return told
}

// wait waits for so many events of a kind.
func wait(t *testing.T, told bus.Subscription, kind string, count int) {
	t.Helper()
	for count > 0 {
		if m := next(t, told); strings.HasSuffix(m.Subject, "."+kind) {
			count--
		}
	}
}
