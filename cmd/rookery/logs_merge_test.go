package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
)

// longest returns the longest delay of a line from one of the instances, while logs follows them.
func longest(t *testing.T, instances, talking int, every time.Duration, beside func(context.Context, *merging)) (slowest time.Duration) {
	t.Helper()
	m := newMerging(settle, holdFollowed)
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Minute) // of the bubble
	defer stop()
	for i := range instances {
		q := m.add()
		if i >= talking {
			continue
		}
		go func() {
			pass(ctx, settle+time.Duration(i)*every/time.Duration(talking)) // after the start, at a different time for each
			for ctx.Err() == nil {
				l := lineOf{LogLine: events.LogLine{Time: time.Now()}, Ordinal: uint32(i)}
				if m.put(ctx, q, l) != nil {
					return
				}
				pass(ctx, every)
			}
		}()
	}
	if beside != nil {
		go func() {
			for ctx.Err() == nil {
				beside(ctx, m)
			}
		}()
	}
	for range 100 {
		l, err := m.next(ctx, func() error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, time.Since(l.Time))
	}
	return slowest
}

// pass lets the time of the bubble pass.
func pass(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func TestAFollowedLineWaitsForNobody(t *testing.T) {
	for name, row := range map[string]struct {
		instances, talking int
		every              time.Duration
		most               time.Duration
	}{
		"one of 20 prints":       {20, 1, 30 * time.Millisecond, holdFollowed},
		"two of 20 print":        {20, 2, 400 * time.Millisecond, 2 * holdFollowed},
		"all of 20 print seldom": {20, 20, 4 * time.Second, 2 * holdFollowed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if took := longest(t, row.instances, row.talking, row.every, nil); took > row.most {
					t.Errorf("a line took %s", took)
				}
			})
		})
	}
	t.Run("others come all the time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			took := longest(t, 2, 1, 30*time.Millisecond, func(ctx context.Context, m *merging) {
				m.add()
				pass(ctx, settle/3)
			})
			if took > settle {
				t.Errorf("a line took %s", took)
			}
		})
	})
}

// TestWhatIsReadIsInOrder checks that other instances wait for one that delivers late.
func TestWhatIsReadIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMerging(settle, 0)
		began := time.Now()
		for i := range 2 {
			q := m.add()
			go func() {
				for n := range 10 {
					pass(t.Context(), time.Duration(i)*settle/2)
					l := lineOf{LogLine: events.LogLine{Time: began.Add(time.Duration(2*n + i))}}
					if m.put(t.Context(), q, l) != nil {
						return
					}
				}
				m.end(q)
			}()
		}
		m.complete()
		for n := range 20 {
			l, err := m.next(t.Context(), func() error { return nil })
			if err != nil || l.Time != began.Add(time.Duration(n)) {
				t.Errorf("line %d is %v, %v", n, l, err)
			}
		}
		if _, err := m.next(t.Context(), func() error { return nil }); !errors.Is(err, io.EOF) {
			t.Errorf("after the last there is %v", err)
		}
	})
}
