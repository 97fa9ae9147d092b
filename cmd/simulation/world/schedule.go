package world

import (
	"container/heap"
	"time"
)

// happening is one step of the world at a time. Its function reports whether it may have woken a goroutine.
type happening struct {
	at time.Time
	n  uint64
	do func() (woke bool)
}

// schedule holds the future steps, in the order of their time. Steps at one time keep the order in which they were scheduled.
type schedule struct {
	waiting happenings
	n       uint64
}

func (s *schedule) at(t time.Time, do func() (woke bool)) {
	s.n++
	heap.Push(&s.waiting, &happening{at: t, n: s.n, do: do})
}

// due removes and returns the next step if it is due by now, or nil.
func (s *schedule) due(now time.Time) *happening {
	if len(s.waiting) == 0 || s.waiting[0].at.After(now) {
		return nil
	}
	return heap.Pop(&s.waiting).(*happening)
}

type happenings []*happening

// Len implements heap.Interface.
func (h happenings) Len() int { return len(h) }

// Less implements heap.Interface.
func (h happenings) Less(i, j int) bool {
	if h[i].at.Equal(h[j].at) {
		return h[i].n < h[j].n
	}
	return h[i].at.Before(h[j].at)
}

// Swap implements heap.Interface.
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *happenings) Push(x any) { *h = append(*h, x.(*happening)) }

// Pop implements heap.Interface.
func (h *happenings) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
}
