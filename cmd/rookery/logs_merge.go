package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// linesWaiting is how many lines of one instance wait to be printed. Those behind wait on its node.
const linesWaiting = 256

// merging puts the lines of several instances in the order of their times, as far as they come in time.
type merging struct {
	// settle is how long others wait for one that has no line. Where hold is not 0 they do so for its first line alone, and a line that
	// has come waits no longer than that for all of them together; hold is how long it waits for earlier ones of those that were quiet.
	settle, hold time.Duration

	mu      sync.Mutex
	changed chan struct{} // closed when anything below changes
	queues  []*queue
	begun   bool // all that is known of was added: with the last queue it ends
	count   uint64
}

// queue has the lines of one instance that wait.
type queue struct {
	lines []arrived
	// until is how long others wait for its next line, where none waits.
	until  time.Time
	closed bool
}

type arrived struct {
	lineOf
	number uint64 // in the order in which lines came
	at     time.Time
}

func newMerging(settle, hold time.Duration) *merging {
	return &merging{settle: settle, hold: hold, changed: make(chan struct{})}
}

func (m *merging) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// add adds a queue, for whose first line the others wait a little.
func (m *merging) add() *queue {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &queue{until: time.Now().Add(m.settle)}
	m.queues = append(m.queues, q)
	return q
}

// put adds a line, once there is room for it.
func (m *merging) put(ctx context.Context, q *queue, l lineOf) error {
	for {
		m.mu.Lock()
		if len(q.lines) < linesWaiting {
			defer m.mu.Unlock()
			m.count++
			q.lines = append(q.lines, arrived{l, m.count, time.Now()})
			m.wake()
			return nil
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end closes the queue: nothing more comes.
func (m *merging) end(q *queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q.closed = true
	m.wake()
}

// complete says that no queue will be added any more.
func (m *merging) complete() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = true
	m.wake()
}

// next returns the next line, or io.EOF after the last. Before it waits, idle is called.
func (m *merging) next(ctx context.Context, idle func() error) (lineOf, error) {
	for {
		m.mu.Lock()
		l, wait, err := m.take(time.Now())
		changed := m.changed
		m.mu.Unlock()
		if wait == 0 || err != nil {
			return l, err
		}
		if err := idle(); err != nil {
			return lineOf{}, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
		timer.Stop()
		if err != nil {
			return lineOf{}, err
		}
	}
}

// take takes the earliest line where none before it is to be expected; else it says how long to wait for one.
func (m *merging) take(now time.Time) (lineOf, time.Duration, error) {
	m.queues = slices.DeleteFunc(m.queues, func(q *queue) bool { return q.closed && len(q.lines) == 0 })
	var first *queue
	all, wait := true, time.Duration(0)
	for _, q := range m.queues {
		switch {
		case len(q.lines) == 0:
			all, wait = false, max(wait, q.until.Sub(now))
		case first == nil || earlier(q.lines[0], first.lines[0]):
			first = q
		}
	}
	switch {
	case first == nil && len(m.queues) == 0 && m.begun:
		return lineOf{}, 0, io.EOF
	case first == nil:
		return lineOf{}, time.Hour, nil
	case !all && len(first.lines) < linesWaiting:
		wait = max(wait, m.hold-now.Sub(first.lines[0].at))
	}
	if m.hold > 0 {
		wait = min(wait, m.settle-now.Sub(first.lines[0].at))
	}
	if wait > 0 {
		return lineOf{}, wait, nil
	}
	l := first.lines[0]
	first.lines = first.lines[1:]
	if len(first.lines) == 0 {
		first.until = now.Add(cmp.Or(m.hold, m.settle))
	}
	m.wake()
	return l.lineOf, 0, nil
}

// earlier orders lines by their times, and those of one time as they came.
func earlier(a, b arrived) bool {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c < 0
	}
	return a.number < b.number
}
