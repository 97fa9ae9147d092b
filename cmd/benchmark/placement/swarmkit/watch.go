package main

import (
	"sync/atomic"
	"time"

	"github.com/docker/go-events"
	"github.com/moby/swarmkit/v2/api"
	"github.com/moby/swarmkit/v2/manager/state"
	"github.com/moby/swarmkit/v2/manager/state/store"
)

// watch follows what the scheduler commits to the store.
type watch struct {
	// all gets one event when the last instance is assigned.
	all chan events.Event
	// cancel ends the watching.
	cancel func()
	// want is how many instances there are to place.
	want int64
	// started is when the timed part began.
	started atomic.Pointer[time.Time]
	// placed and refusals count instances; see report.
	placed, refusals atomic.Int64
	// firstCommit, lastCommit and longestGap are nanoseconds, the first two
	// since started.
	firstCommit, lastCommit, longestGap atomic.Int64
}

// watchPlacing starts to watch the store for the assignment of so many
// instances.
//
// The counting is done in the filter of the subscription, which runs where
// the store publishes its events, so that only the last assignment passes
// through a queue and a channel. To take all of them through one, as
// swarmkit's own benchmarks do, would add the observer's work to the CPU time
// of the observed.
func watchPlacing(memory *store.MemoryStore, instances int) *watch {
	w := &watch{want: int64(instances)}
	w.all, w.cancel = memory.WatchQueue().CallbackWatch(events.MatcherFunc(w.count))
	return w
}

// count takes note of one event and says whether it was the last assignment.
// The store publishes an assignment after it has been committed.
func (w *watch) count(event events.Event) bool {
	switch change := event.(type) {
	case state.EventCommit:
		w.noteCommit()
	case api.EventUpdateTask:
		if change.Task.Status.State != api.TaskStateAssigned {
			w.refusals.Add(1)
			return false
		}
		if change.OldTask != nil && change.OldTask.Status.State >= api.TaskStateAssigned {
			return false
		}
		return w.placed.Add(1) == w.want
	}
	return false
}

// noteCommit takes note of when a transaction of the scheduler ended.
func (w *watch) noteCommit() {
	started := w.started.Load()
	if started == nil || w.placed.Load()+w.refusals.Load() == 0 {
		// The commit of the pending tasks may be published late.
		return
	}
	now := int64(time.Since(*started))
	if w.firstCommit.CompareAndSwap(0, now) {
		w.lastCommit.Store(now)
		return
	}
	if gap := now - w.lastCommit.Swap(now); gap > w.longestGap.Load() {
		w.longestGap.Store(gap)
	}
}
