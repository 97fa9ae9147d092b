package runner_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// TestALeaderHearsFirstWhatCameWhileNobodyLed lets an instance fail during a failover, within the min_healthy time before its update
// continues. The next leader finds that time over, and must not count the instance as healthy.
func TestALeaderHearsFirstWhatCameWhileNobodyLed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const spec = `{"image":"localhost/web:%d","update":{"order":"stop-first","min_healthy":"10s"},"busy":"supersede"}`
		b := memory.New(time.Now)
		told, err := b.Subscribe(events.EventRoot + ".service.demo.web.>")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		stop := start(t, b, "first")
		hello(t, b)
		tell(t, b, "ensure", fmt.Sprintf(spec, 1))
		until(t, told, "instance.placed")
		see(t, b, 1, 1, events.PhaseOnline)
		until(t, told, "command.succeeded")
		tell(t, b, "ensure", fmt.Sprintf(spec, 2))
		until(t, told, "instance.retired")
		see(t, b, 1, 2, events.PhaseRemoved)
		until(t, told, "instance.placed")
		see(t, b, 2, 3, events.PhaseOnline)
		until(t, told, "instance.online")
		stop()
		see(t, b, 2, 4, events.PhaseOffline)
		<-time.After(time.Minute)
		stop = start(t, b, "second")
		defer stop()
		if got := until(t, told, "instance.offline", "operation.ended"); got != "instance.offline" {
			t.Errorf("the next leader said %s before it had heard that the instance is offline", got)
		}
	})
}

// see says what the node has seen of a generation of the one slot.
func see(t *testing.T, b bus.Bus, generation uint32, counter uint64, phase events.Phase) {
	t.Helper()
	s := events.InstanceStatus{Counter: counter, InstanceState: events.InstanceState{
		Namespace: web.Namespace, Name: web.Name, Generation: generation, Position: events.Position{Epoch: 1, Phase: phase},
	}}
	m, err := events.Encode(events.InstanceStatusSubject("n0", s.ID()), s, events.Attributes{
		ID: fmt.Sprint(counter), Source: "/test", Time: time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// until waits for an event of one of these kinds, and returns its kind.
func until(t *testing.T, told bus.Subscription, kinds ...string) string {
	t.Helper()
	for {
		m := next(t, told)
		for _, kind := range kinds {
			if strings.HasSuffix(m.Subject, "."+kind) {
				return kind
			}
		}
	}
}

// TestAStreamThatIsEmptiedIsReadFromItsStart loses all statuses while a coordinator leads, and once more while none does. Each time the
// stream keeps its identity, and the next status is heard.
func TestAStreamThatIsEmptiedIsReadFromItsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told, err := b.Subscribe(events.EventRoot + ".>")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		stop := start(t, b, "first")
		defer func() { stop() }()
		hello(t, b)
		tell(t, b, "ensure", `{"image":"localhost/web:1"}`)
		until(t, told, "instance.placed")
		see(t, b, 1, 1, events.PhasePrepared)
		until(t, told, "instance.prepared")
		b.Empty(bus.Statuses)
		until(t, told, "cluster.renewed")
		see(t, b, 1, 2, events.PhaseStarted)
		until(t, told, "instance.started")
		stop()
		b.Empty(bus.Statuses)
		stop = start(t, b, "second")
		until(t, told, "cluster.renewed")
		see(t, b, 1, 3, events.PhaseOnline)
		until(t, told, "instance.online")
	})
}
