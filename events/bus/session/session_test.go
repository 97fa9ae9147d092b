package session_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/events/bus/session"
)

const (
	subject  = "rookery.node.edge-1.logs.demo.web.0.1"
	subjects = "rookery.node.edge-1.logs.*.*.*.*"
)

// serve serves sessions in a bubble of its own time. The test that it calls must end all that it began.
func serve(t *testing.T, most int, handle session.Handler, test func(t *testing.T, b *leaky)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &leaky{Bus: memory.New(time.Now)}
		stop, err := session.Serve(b, []string{subjects}, most, handle)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		test(t, b)
	})
}

// leaky is a bus that loses what it is told to.
type leaky struct {
	bus.Bus
	lose atomic.Pointer[string] // messages with a frame of this kind; "" for all
}

func (b *leaky) Send(m events.Message) error {
	if kind := b.lose.Load(); kind != nil && (*kind == "" || m.Header.Get("Rookery-Frame") == *kind) {
		return nil
	}
	return b.Bus.Send(m)
}

func open(t *testing.T, b bus.Bus, body string) *session.Conn {
	t.Helper()
	c, err := session.Open(t.Context(), b, subject, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// receive reads to the end, and returns what came and why it ended.
func receive(c *session.Conn) (string, error) {
	var text strings.Builder
	for {
		f, err := c.Receive(context.Background())
		if err != nil {
			return text.String(), err
		}
		text.WriteString(f.Kind + ":" + string(f.Body) + " ")
	}
}

func TestBothEndsSayWhatTheyWantInOrder(t *testing.T) {
	serve(t, 1, func(ctx context.Context, c *session.Conn, opened events.Message) ([]byte, error) {
		for {
			f, err := c.Receive(ctx)
			if err != nil || f.Kind == "last" {
				return []byte("done"), err
			}
			if err := c.Send(ctx, "echo", slices.Concat(opened.Body, f.Body)); err != nil {
				return nil, err
			}
		}
	}, func(t *testing.T, b *leaky) {
		c := open(t, b, "of ")
		for _, kind := range []string{"a", "b", "last"} {
			if err := c.Send(t.Context(), kind, []byte(kind)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := receive(c)
		if want := "echo:of a echo:of b "; got != want || !errors.Is(err, io.EOF) || string(c.Result()) != "done" {
			t.Errorf("received %q, %v, and the result %q", got, err, c.Result())
		}
		c.Close(nil, nil)
	})
}

// TestASlowEndHoldsTheOtherUp opens a session of which one end takes nothing: the other sends at most one window, for as long as that
// lasts.
func TestASlowEndHoldsTheOtherUp(t *testing.T) {
	var sent atomic.Int64
	const all = 10 * session.Window
	serve(t, 1, func(ctx context.Context, c *session.Conn, _ events.Message) ([]byte, error) {
		for i := 0; i < all; i += 1 << 10 {
			if err := c.Send(ctx, "x", make([]byte, 1<<10)); err != nil {
				return nil, err
			}
			sent.Add(1 << 10)
		}
		return nil, nil
	}, func(t *testing.T, b *leaky) {
		c := open(t, b, "")
		<-time.After(session.Stalled / 2)
		if n := sent.Load(); n > session.Window || n < session.Window/2 {
			t.Errorf("%d bytes were sent to an end that takes nothing", n)
		}
		count := 0
		for {
			f, err := c.Receive(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			count += len(f.Body)
		}
		if count != all {
			t.Errorf("%d bytes came, want %d", count, all)
		}
		c.Close(nil, nil)
	})
}

// TestASessionWhoseOtherEndIsGoneEnds covers each way in which the other end can go.
func TestASessionWhoseOtherEndIsGoneEnds(t *testing.T) {
	for name, row := range map[string]struct {
		leave  func(b *leaky, c *session.Conn)
		within time.Duration
		here   error
	}{
		"it says so":       {func(_ *leaky, c *session.Conn) { c.Close(nil, nil) }, 0, context.Canceled},
		"it is not heard":  {func(b *leaky, _ *session.Conn) { b.lose.Store(new(string)) }, session.Silence + session.KeepAlive, session.ErrSilent},
		"it takes nothing": {func(*leaky, *session.Conn) {}, session.Stalled + time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var ended chan struct{} // made where time is simulated
			serve(t, 1, func(ctx context.Context, c *session.Conn, _ events.Message) ([]byte, error) {
				defer close(ended)
				for ctx.Err() == nil {
					if err := c.Send(ctx, "x", make([]byte, 1<<10)); err != nil {
						return nil, err
					}
				}
				return nil, ctx.Err()
			}, func(t *testing.T, b *leaky) {
				ended = make(chan struct{})
				c := open(t, b, "")
				synctest.Wait()
				row.leave(b, c)
				began := time.Now()
				<-ended
				if took := time.Since(began); took > row.within {
					t.Errorf("it went on for %s, want %s at most", took, row.within)
				}
				if row.here != nil {
					<-time.After(session.Silence)
					if _, err := receive(c); !errors.Is(err, row.here) {
						t.Errorf("it ended here with %v, want %v", err, row.here)
					}
				}
				b.lose.Store(nil)
				c.Close(nil, nil)
			})
		})
	}
}

func TestALostFrameEndsTheSession(t *testing.T) {
	for name, row := range map[string]struct{ lost, want string }{
		"in the middle": {"b", "a:1 "},
		"the last":      {"c", "a:1 b:2 "},
	} {
		t.Run(name, func(t *testing.T) {
			serve(t, 1, func(ctx context.Context, c *session.Conn, _ events.Message) ([]byte, error) {
				for i, kind := range []string{"a", "b", "c"} {
					if err := c.Send(ctx, kind, []byte(strconv.Itoa(i+1))); err != nil {
						return nil, err
					}
				}
				return nil, nil
			}, func(t *testing.T, b *leaky) {
				b.lose.Store(&row.lost)
				c := open(t, b, "")
				if got, err := receive(c); got != row.want || !errors.Is(err, session.ErrGap) {
					t.Errorf("received %q, %v", got, err)
				}
				c.Close(nil, nil)
			})
		})
	}
}

func TestWhoSendsMoreThanItMayIsCutOff(t *testing.T) {
	var why chan error // made where time is simulated
	serve(t, 1, func(ctx context.Context, c *session.Conn, _ events.Message) ([]byte, error) {
		<-ctx.Done()
		for {
			if _, err := c.Receive(context.Background()); err != nil {
				why <- err
				return nil, err
			}
		}
	}, func(t *testing.T, b *leaky) {
		why = make(chan error, 1)
		answer, err := b.Request(t.Context(), events.Message{Subject: subject, Header: events.Header{"Rookery-Reply": {"rookery.session.x"}}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for i := range 100 {
			if err := b.Send(events.Message{
				Subject: answer.Header.Get("Rookery-Session"), Body: bytes.Repeat([]byte("x"), session.MaxFrame),
				Header: events.Header{"Rookery-Frame": {"x"}, "Rookery-Number": {strconv.Itoa(i + 1)}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-why; !errors.Is(err, session.ErrFlood) {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestASessionThatIsNotServedSaysWhy(t *testing.T) {
	const most = 2
	serve(t, most, func(ctx context.Context, _ *session.Conn, opened events.Message) ([]byte, error) {
		if len(opened.Body) > 0 {
			return nil, &bus.QuestionError{Code: 404, Reason: "no such thing"}
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}, func(t *testing.T, b *leaky) {
		c := open(t, b, "x")
		if _, err := receive(c); bus.CodeOf(err) != 404 || err.Error() != "no such thing" {
			t.Errorf("it ended with %v", err)
		}
		c.Close(nil, nil)
		for range most {
			defer open(t, b, "").Close(nil, nil)
		}
		if _, err := session.Open(t.Context(), b, subject, nil); bus.CodeOf(err) != 429 {
			t.Errorf("one too many is answered with %v", err)
		}
		if _, err := session.Open(t.Context(), b, "rookery.node.gone.logs.demo.web.0.1", nil); !errors.Is(err, bus.ErrNoAnswer) {
			t.Errorf("without a process that serves, it is %v", err)
		}
		for _, inbox := range []string{"", "rookery.cmd.cluster.policy", "_INBOX.x", "rookery.session.", "rookery.session.>"} {
			answer, err := b.Request(t.Context(), events.Message{Subject: subject, Header: events.Header{"Rookery-Reply": {inbox}}})
			if err != nil || answer.Header.Get(bus.HeaderErrorCode) != "400" {
				t.Errorf("a session with %q is answered with %v, %v", inbox, answer.Header, err)
			}
		}
	})
}
