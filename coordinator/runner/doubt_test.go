package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// outdated is a bus that tells of no command at some times, as a server does that was cut off from the others.
type outdated struct {
	bus.Bus
	began time.Time
	at    func(time.Duration) bool
}

// State implements bus.Bus.
func (o outdated) State(ctx context.Context, stream bus.Stream) (bus.State, error) {
	s, err := o.Bus.State(ctx, stream)
	if stream == bus.Commands && o.at(time.Since(o.began)) {
		s.First, s.Last = 1, 0
	}
	return s, err
}

// TestAStreamThatIsSaidToBeAnotherIsAskedAgain tells a coordinator of fewer commands than the log has decided: for a while, and for good.
func TestAStreamThatIsSaidToBeAnotherIsAskedAgain(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   func(time.Duration) bool
		want error
	}{
		{"for a while, and again", func(d time.Duration) bool { return d < 10*time.Second || (d > time.Minute && d < 70*time.Second) }, nil},
		{"for good", func(time.Duration) bool { return true }, runner.ErrIdentity},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memory.New(time.Now)
				told, err := b.Subscribe(events.EventRoot + ".>")
				if err != nil {
					t.Fatal(err)
				}
				defer told.Stop()
				first := start(t, b, "first")
				tell(t, b, "ensure", `{"image":"localhost/web:1"}`)
				wait(t, told, "command.1.accepted", 1)
				first()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began, ended := time.Now(), make(chan error, 1)
				go func() {
					ended <- runner.New(runner.Config{Bus: outdated{b, began, tt.at}, Name: "second", Log: slog.New(slog.DiscardHandler)}).Run(ctx)
				}()
				if tt.want == nil {
					tell(t, b, "scale", `{"scale":2,"busy":"supersede"}`)
					wait(t, told, "superseded", 1)
					<-time.After(2 * time.Minute) // simulated
					tell(t, b, "scale", `{"scale":3,"busy":"supersede"}`)
					wait(t, told, "superseded", 1)
					cancel()
				}
				if err := <-ended; !errors.Is(err, tt.want) {
					t.Errorf("the coordinator ends with %v, want %v", err, tt.want)
				}
				if took := time.Since(began); took < 10*time.Second {
					t.Errorf("it went on after %s", took)
				}
			})
		})
	}
}
