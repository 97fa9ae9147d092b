package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// errorsTold is a log that hands on the texts of the attribute "error" of its errors.
type errorsTold struct {
	slog.Handler
	texts chan string
}

func (errorsTold) Enabled(context.Context, slog.Level) bool { return true }

func (l errorsTold) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l errorsTold) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelError {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "error" {
				l.texts <- a.Value.String()
			}
			return true
		})
	}
	return nil
}

// planToFinish asks what the command to finish an upgrade would do.
func planToFinish(t *testing.T, b bus.Bus) (p coordinator.CommandPlan) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for ; ; <-again.C {
		answer, err := b.Request(ctx, events.Message{
			Subject: events.APIRoot + ".plan", Header: events.Header{}, Body: []byte(`{"verb":"finish-upgrade","body":{}}`),
		})
		if err == nil && answer.Header.Get(bus.HeaderErrorCode) == "503" { // the coordinator that answers folds the log
			continue
		}
		if err == nil {
			err = json.Unmarshal(answer.Body, &p)
		}
		if err != nil {
			t.Fatalf("the plan is %s, %v", answer.Body, err)
		}
		return p
	}
}

// founds begins a cluster at the highest level of the program.
func founds(t *testing.T, b bus.Bus, program events.Program) {
	t.Helper()
	adopted, err := b.Subscribe(events.EventRoot + ".cluster.adopted")
	if err != nil {
		t.Fatal(err)
	}
	defer adopted.Stop()
	stop := run(t, runner.Config{Bus: b, Name: "founder", Program: program, Log: slog.New(slog.DiscardHandler)})
	next(t, adopted)
	stop()
}

// TestAnOlderCoordinatorWaitsForItsUpgrade runs one that works at level 0 beside one that works at level 1. The cluster reaches level 1 once
// the older one is gone. When that is started again, it neither leads nor ends.
func TestAnOlderCoordinatorWaitsForItsUpgrade(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		newer := events.Program{Version: "v2", Levels: events.Levels{Most: 1}}
		configOf := func(name string, program events.Program) runner.Config {
			return runner.Config{Bus: b, Name: name, Program: program, Log: slog.New(slog.DiscardHandler)}
		}
		heard := func(of string) func() events.Message {
			told, err := b.Subscribe(events.EventRoot + "." + of)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(told.Stop)
			return func() events.Message { t.Helper(); return next(t, told) }
		}
		rejected, raised, succeeded := heard("cluster.command.rejected"), heard("cluster.level"), heard("cluster.command.succeeded")
		finish := func() { publish(t, b, events.CommandRoot+".cluster.finish-upgrade", "{}") }
		founds(t, b, events.Program{})
		stopNewer := run(t, configOf("newer", newer))
		finishWith := func(want string) {
			finish()
			if d, _, err := events.DecodeAs[events.CommandRejected](rejected()); err != nil || !strings.Contains(d.Reason, want) {
				t.Fatalf("the command was rejected with %q, %v; want one with %q", d.Reason, err, want)
			}
		}
		publish(t, b, events.CommandRoot+".cluster.policy", `{"unknown":1}`)
		rejected() // from here on the newer one leads
		stopOlder := run(t, configOf("older", events.Program{}))
		for serving := 0; serving < 2; {
			all, err := b.Coordinators(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			serving = len(all)
		}
		const olderWorks = "coordinator older works at levels 0-0"
		for range 4 { // either coordinator may answer
			if p := planToFinish(t, b); p.Rejection == nil || !strings.Contains(p.Rejection.Reason, olderWorks) {
				t.Errorf("the plan is %+v, want a rejection with %q", p, olderWorks)
			}
		}
		finishWith(olderWorks)
		stopOlder()
		if p := planToFinish(t, b); p.Rejection != nil || !slices.Contains(p.Events, "cluster.level") {
			t.Errorf("the plan is %+v, want cluster.level", p)
		}
		finish()
		if d, _, err := events.DecodeAs[events.ClusterLevel](raised()); err != nil || d.Level != 1 {
			t.Fatalf("the cluster reached level %d, %v", d.Level, err)
		}
		succeeded()
		stopNewer()

		log := errorsTold{slog.DiscardHandler, make(chan string, 9)}
		stopOlder = run(t, runner.Config{Bus: b, Name: "older", Program: events.Program{Version: "v1"}, Log: slog.New(log)})
		select {
		case said := <-log.texts:
			const want = "upgrade it: it works at levels up to 0, and the cluster is at level 1"
			if !strings.Contains(said, want) {
				t.Errorf("the older one says %q, want %q", said, want)
			}
		case <-time.After(patience):
			t.Fatal("the older one does not say that it waits")
		}
		question := events.Message{Subject: events.APIRoot + ".state", Header: events.Header{}, Body: []byte(`{"live":true}`)}
		if answer, err := b.Request(t.Context(), question); !errors.Is(err, bus.ErrNoAnswer) {
			t.Errorf("the older one, which waits, answers a question with %s, %v", answer.Body, err)
		}
		stopNewer = run(t, configOf("newer", newer))
		finish()
		succeeded()
		stopNewer()
		stopOlder()
	})
}
