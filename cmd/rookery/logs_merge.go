package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// linesWaiting bounds the lines of one instance that wait here. Later lines wait on the node.
const linesWaiting = 256

// merging orders the lines of several instances by time. A line that arrives too late is out of order.
type merging struct {
	// settle is how long the lines of other instances wait for an instance without a line. If hold is not 0, they wait so long only
	// for its first line, and for all instances together. Later on, hold is how long a line waits for earlier lines of quiet instances.
	settle, hold time.Duration

	mu      sync.Mutex
	changed chan struct{} // closed when anything below changes
	queues  []*queue
	begun   bool // all queues are added: the merging ends with the last one
	count   uint64
}

// queue holds the waiting lines of one instance.
type queue struct {
	lines []arrived
	// until is when others stop waiting for the next line of an empty queue.
	until  time.Time
	closed bool
}

type arrived struct {
	lineOf
	number uint64 // counts lines in their order of arrival
	at     time.Time
}

func newMerging(settle, hold time.Duration) *merging {
	return &merging{settle: settle, hold: hold, changed: make(chan struct{})}
}

func (m *merging) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// add adds a queue. The other queues wait up to settle for its first line.
func (m *merging) add() *queue {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &queue{until: time.Now().Add(m.settle)}
	m.queues = append(m.queues, q)
	return q
}

// put adds a line. It blocks while the queue is full.
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

// end closes the queue: its last line has arrived.
func (m *merging) end(q *queue) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q.closed = true
	m.wake()
}

// complete says that the caller has added all queues.
func (m *merging) complete() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = true
	m.wake()
}

// next returns the next line, or io.EOF after the last. It calls idle before it waits.
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

// take takes the earliest line, unless an earlier one may still come; then it returns how long to wait.
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

// earlier orders lines by time, and lines of the same time by arrival.
func earlier(a, b arrived) bool {
	if c := a.Time.Compare(b.Time); c != 0 {
		return c < 0
	}
	return a.number < b.number
}
