package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/events/bus/session"
	"github.com/rookery-project/rookery/projections/views"
)

// talker is a node with one container that prints lines.
type talker struct {
	mu      sync.Mutex
	lines   []events.LogLine
	changed chan struct{}
	// hang ends the open sessions.
	hang context.CancelFunc
}

// print prints the lines, all with the same time.
func (p *talker) print(texts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range texts {
		p.lines = append(p.lines, events.LogLine{Time: time.Now(), Stream: events.Stdout, Text: text})
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *talker) serve(ctx context.Context, c *session.Conn, opened events.Message) ([]byte, error) {
	asked, err := events.ParseLogsRequest(opened.Body)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	ctx, p.hang = context.WithCancel(ctx)
	p.mu.Unlock()
	if err := c.Send(ctx, events.FrameContainer, []byte("c")); err != nil {
		return nil, err
	}
	for from := 0; ; {
		p.mu.Lock()
		lines, changed := slices.Clone(p.lines[from:]), p.changed
		p.mu.Unlock()
		for _, l := range lines {
			from++
			if l.Time.Before(asked.Since) {
				continue
			}
			if err := c.Send(ctx, events.FrameLines, l.AppendTo(nil)); err != nil {
				return nil, err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// TestALineIsPrintedOnceThoughTheViewsAreMadeAnew removes an instance from the views for a while, as the deletion of a bucket does.
// In one case its lines continue, and in the other its session ends meanwhile.
func TestALineIsPrintedOnceThoughTheViewsAreMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		p := &talker{changed: make(chan struct{})}
		stop, err := session.Serve(b, plainly(events.SessionSubjects("node-0", events.SessionLogs)), 2, p.serve)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		ctx, end := context.WithCancel(t.Context())
		asked := events.LogsRequest{Follow: true}
		r := newReading(b, target{}, nil, asked, io.Discard)
		defer r.running.Wait()
		defer end()
		there := []views.Instance{{Namespace: "demo", Name: "web", Generation: 1, Node: "node-0"}}
		wait := func() { <-time.After(2 * readAgain) }

		p.print("1", "2")
		r.have(ctx, there, asked)
		wait()
		r.have(ctx, nil, asked)
		p.print("3", "4")
		wait()
		r.have(ctx, there, asked)
		p.print("5", "6")
		wait()
		r.have(ctx, nil, asked)
		p.hang()
		wait()
		p.print("7")
		r.have(ctx, there, asked)
		wait()
		p.print("8")
		wait()

		var got []string
		for range 8 {
			l, err := r.merging.next(ctx, func() error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, l.Text)
		}
		if want := "[1 2 3 4 5 6 7 8]"; fmt.Sprint(got) != want {
			t.Errorf("printed %v, want %s", got, want)
		}
	})
}

// TestAFullNodeIsSaidOnce reads more instances on one node than the node serves readers.
func TestAFullNodeIsSaidOnce(t *testing.T) {
	for _, follow := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := memory.New(time.Now)
			full := func(context.Context, *session.Conn, events.Message) ([]byte, error) {
				return nil, &bus.QuestionError{Code: 429, Reason: "2 sessions are open here, the maximum"}
			}
			stop, err := session.Serve(b, plainly(events.SessionSubjects("node-0", events.SessionLogs)), 100, full)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			ctx, end := context.WithCancel(t.Context())
			notes := &lineCount{}
			r := newReading(b, target{}, nil, events.LogsRequest{Follow: follow}, notes)
			defer r.running.Wait()
			defer end()
			var there []views.Instance
			for i := range uint32(10) {
				there = append(there, views.Instance{Namespace: "demo", Name: "web", Ordinal: i, Generation: 1, Node: "node-0"})
			}
			r.have(ctx, there, r.asked)
			<-time.After(time.Minute)
			synctest.Wait()
			if len(notes.lines) != 1 {
				t.Errorf("with follow %t, %d notes: %.200q", follow, len(notes.lines), notes.lines)
			}
			if err := r.missed(); (err == nil) != follow {
				t.Errorf("with follow %t, it ends with %.200v", follow, err)
			}
		})
	}
}

type lineCount struct{ lines []string }

func (c *lineCount) Write(p []byte) (int, error) {
	c.lines = append(c.lines, string(p))
	return len(p), nil
}

// plainly is where sessions are opened where accounts are off.
func plainly(_, plain string) []string { return []string{plain} }
