package simulated

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Output implements node.Engine: what Print said.
func (e *Engine) Output(_ context.Context, c node.Container) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, have := e.byHandle(c.Handle); have == nil {
		return nil, fmt.Errorf("read the log of %s: no such container", c.Handle)
	}
	var text strings.Builder
	for _, l := range e.printed[c.Handle] {
		text.WriteString(l.Text + "\n")
	}
	return node.LastLines([]byte(text.String())), nil
}

// Print has the instance's container print a line. It reports false where none runs.
func (e *Engine) Print(id events.InstanceID, line string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, c := range e.containers {
		if k.instance == id && c.State == node.Running {
			e.printed[c.Handle] = append(e.printed[c.Handle], events.LogLine{Time: time.Now(), Stream: events.Stdout, Text: line})
			e.wake()
			return true
		}
	}
	return false
}

// wake has those look again who wait for lines.
func (e *Engine) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// Logs implements node.Engine: what Print said.
func (e *Engine) Logs(ctx context.Context, c node.Container, asked events.LogsRequest, line func(events.LogLine) error) error {
	for next, first := 0, true; ; first = false {
		e.mu.Lock()
		_, have := e.byHandle(c.Handle)
		lines, changed := slices.Clone(e.printed[c.Handle]), e.changed
		goesOn := asked.Follow && have != nil && have.State == node.Running
		e.mu.Unlock()
		if have == nil && first {
			return fmt.Errorf("read the log of %s: no such container", c.Handle)
		}
		if first && asked.Tail != nil {
			next = max(0, len(lines)-*asked.Tail)
		}
		for ; next < len(lines); next++ {
			if lines[next].Time.Before(asked.Since) {
				continue
			}
			if err := line(lines[next]); err != nil {
				return err
			}
		}
		if !goesOn {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
