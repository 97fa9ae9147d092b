package runner_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections"
)

const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both runs the test on each bus.
func both(t *testing.T, test func(t *testing.T, b bus.Bus)) {
	t.Run("memory", func(t *testing.T) { test(t, memory.New(time.Now)) })
	t.Run("jetstream", func(t *testing.T) {
		server, err := embedded.Start(t.TempDir(), "127.0.0.1", embedded.AnyPort)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		conn, err := server.Connect("test")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		b, err := bus.New(conn)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := b.Init(ctx, 1); err != nil {
			t.Fatal(err)
		}
		test(t, b)
	})
}

// start runs a coordinator until stop is called.
func start(t *testing.T, b bus.Bus, name string) (stop func()) {
	t.Helper()
	return run(t, runner.Config{Bus: b, Name: name, Log: slog.New(slog.DiscardHandler)})
}

// run starts a coordinator, which must run until it is stopped.
func run(t *testing.T, config runner.Config) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runner.New(config).Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("coordinator %s ended with %v", config.Name, err)
		}
	}
}

// next returns the next event on the event subjects.
func next(t *testing.T, told bus.Subscription) events.Message {
	t.Helper()
	select {
	case m := <-told.Messages():
		return m
	case <-time.After(patience):
		t.Fatal("no event came")
	}
	return events.Message{}
}

// TestATornRoundIsVoided leaves the beginning of a round in the log, as a crash of the server can, and has the next
// leader close it.
func TestATornRoundIsVoided(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		told, err := b.Subscribe(events.EventRoot + ".round")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		voided, err := b.Subscribe(events.EventRoot + ".cluster.round.void")
		if err != nil {
			t.Fatal(err)
		}
		defer voided.Stop()
		stop := start(t, b, "first")
		next(t, told)
		stop()
		tear(t, b)
		stop = start(t, b, "second")
		defer stop()
		void, _, err := events.DecodeAs[events.RoundVoid](next(t, voided))
		if err != nil {
			t.Fatal(err)
		}
		if void.From != 4 || void.To != 5 || void.Epoch != 2 || void.Leader != "second" {
			t.Errorf("the torn round is closed with %+v, want 4 to 5", void)
		}
		publish(t, b, events.CommandSubject(web, "ensure"), webSpec)
		closed, _, err := events.DecodeAs[events.RoundClosed](next(t, told))
		if err != nil {
			t.Fatal(err)
		}
		if closed.Round != 2 {
			t.Errorf("the round after the torn one is %d, want 2", closed.Round)
		}
		cluster := replay(t, b)
		if cluster.Round != 2 || len(cluster.Nodes) != 0 || cluster.Services[web] == nil {
			t.Errorf("the log replays to round %d with nodes %v and services %v: what was torn counts",
				cluster.Round, cluster.Nodes, cluster.Services)
		}
	})
}

// TestAMessageInTheLogThatIsNotOursStopsNobody puts foreign messages into the log, as any client can with `nats pub`: while a coordinator
// leads, and while none does. The next round is closed all the same, and questions about the past skip the messages.
func TestAMessageInTheLogThatIsNotOursStopsNobody(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		told, err := b.Subscribe(events.EventRoot + ".service.demo.web.>")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		hi := func() {
			t.Helper()
			for _, subject := range []string{"rookery.log.x", "rookery.log.service.demo.web.instance.placed"} {
				if _, err := b.Publish(t.Context(), events.Message{Subject: subject, Header: events.Header{}, Body: []byte("hi")}); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop := start(t, b, "first")
		publish(t, b, events.CommandSubject(web, "ensure"), webSpec)
		until(t, told, "web.revised")
		hi()
		publish(t, b, events.CommandSubject(web, "snapshot"), webSpec)
		until(t, told, "web.command.rejected")
		stop()
		hi()
		stop = start(t, b, "second")
		defer stop()
		tell(t, b, "drop", `{}`)
		until(t, told, "web.dropped")
		if cluster := replay(t, b); cluster.Epoch < 3 {
			t.Errorf("the log replays to epoch %d", cluster.Epoch)
		}
	})
}

// intruding is a bus on which another client writes into the log just after the first void of it.
type intruding struct {
	bus.Bus
	done bool
}

func (i *intruding) Append(ctx context.Context, stream bus.Stream, after uint64, batch []events.Message) (uint64, error) {
	last, err := i.Bus.Append(ctx, stream, after, batch)
	if err == nil && !i.done && batch[0].Subject == events.ClusterScope.LogSubject(events.RoundVoid{}.Kind()) {
		i.done = true
		_, err = i.Publish(ctx, events.Message{Subject: "rookery.log.x", Header: events.Header{}, Body: []byte("hi")})
	}
	return last, err
}

// TestNoRoundClosesOverWhatComesBehindAVoid lets foreign messages arrive after the void that a new leader writes, while it fails over.
func TestNoRoundClosesOverWhatComesBehindAVoid(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		told, err := b.Subscribe(events.EventRoot + ".round")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		stop := start(t, b, "first")
		next(t, told)
		stop()
		tear(t, b)
		stop = start(t, &intruding{Bus: b}, "second")
		defer stop()
		publish(t, b, events.CommandSubject(web, "ensure"), webSpec)
		next(t, told)
		if cluster := replay(t, b); cluster.Services[web] == nil {
			t.Error("the log replays to a state without the service")
		}
	})
}

var web = events.ServiceID{Namespace: "demo", Name: "web"}

const webSpec = `{"image":"localhost/web:1"}`

func publish(t *testing.T, b bus.Bus, subject, body string) {
	t.Helper()
	m := events.Message{Subject: subject, Header: events.Header{}, Body: []byte(body)}
	if _, err := b.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// tear stores events without the end of their round.
func tear(t *testing.T, b bus.Bus) {
	t.Helper()
	for sequence := uint64(4); sequence <= 5; sequence++ {
		m, err := events.Record{
			Event:    events.Event{Scope: events.NodeScope("ghost"), Data: events.NodeSilent{}},
			Sequence: sequence, Time: time.Now(),
		}.Message("torn")
		if err != nil {
			t.Fatal(err)
		}
		stored, err := b.Publish(t.Context(), m)
		if err != nil || stored != sequence {
			t.Fatalf("stored %d: %v", stored, err)
		}
	}
}

func replay(t *testing.T, b bus.Bus) *projections.Cluster {
	t.Helper()
	state, err := b.State(t.Context(), bus.Log)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := b.Read(t.Context(), bus.Log, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Stop()
	fold := projections.NewFold()
	for fold.Last() < state.Last {
		if _, err := fold.Take(<-reader.Messages()); err != nil {
			t.Fatal(err)
		}
	}
	return fold.Cluster
}
