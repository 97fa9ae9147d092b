package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections"
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

// damaged is a bus that reads the log, at some times, by a server whose copy lacks a message.
type damaged struct {
	bus.Bus
	began time.Time
	at    func(time.Duration) bool
}

// Read implements bus.Bus.
func (d damaged) Read(ctx context.Context, stream bus.Stream, from uint64) (bus.Reader, error) {
	r, err := d.Bus.Read(ctx, stream, from)
	if err != nil || stream != bus.Log || !d.at(time.Since(d.began)) {
		return r, err
	}
	l := &lacking{Reader: r, messages: make(chan events.Message), stop: make(chan struct{})}
	l.running.Go(l.pump)
	return l, nil
}

// lacking is a reader that leaves out a message.
type lacking struct {
	bus.Reader
	messages chan events.Message
	stop     chan struct{}
	running  sync.WaitGroup
}

func (l *lacking) pump() {
	const left = 2
	for {
		select {
		case m := <-l.Reader.Messages():
			if m.Sequence == left {
				continue
			}
			select {
			case l.messages <- m:
			case <-l.stop:
				return
			}
		case <-l.stop:
			return
		}
	}
}

// Messages implements bus.Reader.
func (l *lacking) Messages() <-chan events.Message { return l.messages }

// Stop implements bus.Reader.
func (l *lacking) Stop() {
	close(l.stop)
	l.running.Wait()
	l.Reader.Stop()
}

// TestAStreamThatIsSaidToBeAnotherIsAskedAgain tells a coordinator of fewer commands than the log has decided, or of a log that lacks a
// message: for a while, and for good.
func TestAStreamThatIsSaidToBeAnotherIsAskedAgain(t *testing.T) {
	forAWhile := func(d time.Duration) bool { return d < 10*time.Second || (d > time.Minute && d < 70*time.Second) }
	forGood := func(time.Duration) bool { return true }
	for _, tt := range []struct {
		name string
		tell func(bus.Bus) bus.Bus
		want error
	}{
		{"fewer commands for a while, and again", func(b bus.Bus) bus.Bus { return outdated{b, time.Now(), forAWhile} }, nil},
		{"fewer commands for good", func(b bus.Bus) bus.Bus { return outdated{b, time.Now(), forGood} }, runner.ErrIdentity},
		{"a gap for a while", func(b bus.Bus) bus.Bus { return damaged{b, time.Now(), forAWhile} }, nil},
		{"a gap for good", func(b bus.Bus) bus.Bus { return damaged{b, time.Now(), forGood} }, projections.ErrGap},
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
					ended <- runner.New(runner.Config{Bus: tt.tell(b), Name: "second", Log: slog.New(slog.DiscardHandler)}).Run(ctx)
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
