package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections"
)

// outdated is a bus that tells of an empty stream at some times, as a server does that was cut off from the others.
type outdated struct {
	bus.Bus
	stream bus.Stream
	began  time.Time
	at     func(time.Duration) bool
}

// State implements bus.Bus.
func (o outdated) State(ctx context.Context, stream bus.Stream) (bus.State, error) {
	s, err := o.Bus.State(ctx, stream)
	if stream == o.stream && o.at(time.Since(o.began)) {
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
	const left = 2
	return altered(r, func(sequence uint64) int {
		if sequence == left {
			return 0
		}
		return 1
	}), nil
}

// altering is a reader that delivers each message as often as times says.
type altering struct {
	bus.Reader
	times    func(sequence uint64) int
	messages chan events.Message
	stop     chan struct{}
	running  sync.WaitGroup
}

func altered(r bus.Reader, times func(sequence uint64) int) bus.Reader {
	a := &altering{Reader: r, times: times, messages: make(chan events.Message), stop: make(chan struct{})}
	a.running.Go(a.pump)
	return a
}

func (a *altering) pump() {
	for {
		select {
		case m := <-a.Reader.Messages():
			for range a.times(m.Sequence) {
				select {
				case a.messages <- m:
				case <-a.stop:
					return
				}
			}
		case <-a.stop:
			return
		}
	}
}

// Messages implements bus.Reader.
func (a *altering) Messages() <-chan events.Message { return a.messages }

// Stop implements bus.Reader.
func (a *altering) Stop() {
	close(a.stop)
	a.running.Wait()
	a.Reader.Stop()
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
		{"fewer commands for a while, and again", func(b bus.Bus) bus.Bus { return outdated{b, bus.Commands, time.Now(), forAWhile} }, nil},
		{"fewer commands for good", func(b bus.Bus) bus.Bus { return outdated{b, bus.Commands, time.Now(), forGood} }, runner.ErrIdentity},
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

// repeating is a bus that delivers each message of the log twice, and counts the readers of the log.
type repeating struct {
	bus.Bus
	readers atomic.Int64
}

// Read implements bus.Bus.
func (r *repeating) Read(ctx context.Context, stream bus.Stream, from uint64) (bus.Reader, error) {
	reader, err := r.Bus.Read(ctx, stream, from)
	if err != nil || stream != bus.Log {
		return reader, err
	}
	r.readers.Add(1)
	return altered(reader, func(uint64) int { return 2 }), nil
}

// TestAStandbyReadsOnAfterMessagesThatComeTwice runs a standby that gets each message of the log twice. A standby that takes the
// second one for a gap would not end at once: it would read the log again every second, and end after half a minute.
func TestAStandbyReadsOnAfterMessagesThatComeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.EventRoot+".>")
		defer start(t, b, "first")()
		synctest.Wait()
		twice := &repeating{Bus: b}
		defer start(t, twice, "second")()
		tell(t, b, "ensure", `{"image":"localhost/web:1"}`)
		wait(t, told, "command.1.accepted", 1)
		<-time.After(10 * time.Second) // simulated
		if readers := twice.readers.Load(); readers != 1 {
			t.Errorf("the standby has read the log %d times, want once", readers)
		}
	})
}

// TestAnOutdatedEndOfTheStatusesIsNotANewStream runs a leader that a server tells of no statuses, although the stream has all that it has read.
func TestAnOutdatedEndOfTheStatusesIsNotANewStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.EventRoot+".>")
		defer told.Stop()
		defer start(t, outdated{b, bus.Statuses, time.Now(), func(d time.Duration) bool { return d > 10*time.Second }}, "first")()
		hello(t, b)
		wait(t, told, "joined", 1)
		<-time.After(time.Minute) // simulated
		tell(t, b, "ensure", `{"image":"localhost/web:1"}`)
		if kind := until(t, told, "cluster.renewed", "accepted"); kind != "accepted" {
			t.Error("the leader takes the stream that it has read for a new one")
		}
	})
}
