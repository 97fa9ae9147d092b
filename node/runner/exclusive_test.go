package runner_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
)

// exclusive begins a node with a heartbeat every ten seconds, and an instance that may run a minute without one.
func exclusive(t *testing.T) *world {
	w := newWorld(t)
	w.heartbeat = 10 * time.Second
	w.run()
	w.live <- w.storeOrder(0, exclusively())
	synctest.Wait()
	return w
}

func exclusively() events.Order {
	spec := specOf(good)
	spec.StopGrace = events.Duration(10 * time.Second)
	return events.Order{Action: events.ActionRun, Spec: spec, Window: events.Duration(time.Minute)}
}

// pass lets this much time pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestAnExclusiveInstanceRunsAsLongAsItsNodeIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := exclusive(t)
		pass(15 * time.Second)
		w.want([]uint32{0}, nil)
		pass(time.Hour)
		w.want([]uint32{0}, nil)
		before := len(w.engine.guarded())
		pass(time.Minute)
		if more := len(w.engine.guarded()) - before; more != 6 {
			t.Errorf("in a minute its host was told %d times that the node is heard, want 6", more)
		}
		w.unheard.Store(true)
		told := w.engine.guarded()
		last := told[len(told)-1]
		pass(time.Until(last.Add(49*time.Second - time.Millisecond)))
		w.want([]uint32{0}, nil)
		pass(time.Millisecond)
		w.want(nil, nil)
		pass(time.Hour)
		w.want(nil, nil)
		w.unheard.Store(false)
		pass(11 * time.Second)
		w.want([]uint32{0}, nil)
		want := []string{"0 prepared", "0 started", "0 online", "0 offline", "1 prepared", "1 started", "1 online"}
		if got := w.positions(); !slices.Equal(got, want) {
			t.Errorf("it is said to be %q, want %q", got, want)
		}
	})
}

// TestAnExclusiveInstanceThatWasReplacedDoesNotBeginAgain covers a node that has missed an order to stop. When the leader answers its
// heartbeats again, the answer says that there is another order.
func TestAnExclusiveInstanceThatWasReplacedDoesNotBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := exclusive(t)
		pass(15 * time.Second)
		w.unheard.Store(true)
		pass(time.Hour)
		w.store(0, events.ActionStop, "")
		w.unheard.Store(false)
		pass(11 * time.Second)
		w.want(nil, nil)
		if got := w.positions(); slices.Contains(got, "1 prepared") {
			t.Errorf("it is said to be %q", got)
		}
	})
}

func TestAnExclusiveInstanceThatNobodyGuardsDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.heartbeat, w.engine.guardErr = 10*time.Second, errors.New("no watchdog")
		w.run()
		w.live <- w.storeOrder(0, exclusively())
		pass(time.Minute)
		w.want(nil, []uint32{0})
		w.engine.mu.Lock()
		w.engine.guardErr = nil
		w.engine.mu.Unlock()
		pass(10 * time.Minute)
		w.want([]uint32{0}, nil)
	})
}

// TestANodeIsHeardOftenEnoughForItsExclusiveInstances has a node whose heartbeats are as far apart as a window is long.
func TestANodeIsHeardOftenEnoughForItsExclusiveInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.heartbeat = time.Minute
		w.run()
		w.live <- w.storeOrder(0, exclusively())
		pass(time.Hour)
		w.want([]uint32{0}, nil)
		if got := w.positions(); slices.Contains(got, "0 offline") {
			t.Errorf("it is said to be %q", got)
		}
	})
}

// TestAnExclusiveInstanceMayRunOnTheMachineThatWasTheNodeBefore lets a process join on another machine. The process neither starts an
// instance that was ordered before nor reports it as removed, until the window of the earlier machine has passed.
func TestAnExclusiveInstanceMayRunOnTheMachineThatWasTheNodeBefore(t *testing.T) {
	for name, c := range map[string]struct {
		order        events.Action
		before, want []string
	}{
		"one that must run":  {events.ActionRun, []string{"0 offline"}, []string{"0 offline", "1 prepared", "1 started", "1 online"}},
		"one that must stop": {events.ActionStop, nil, []string{"0 removed"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.heartbeat, w.epoch, w.machine = 10*time.Second, 2, 2
				o := exclusively()
				o.Action, o.Epoch = c.order, 1
				w.storeOrder(0, o)
				w.run()
				pass(time.Minute + 2*time.Second - time.Millisecond)
				if got := w.positions(); !slices.Equal(got, c.before) {
					t.Errorf("before the window has passed it is said to be %q, want %q", got, c.before)
				}
				pass(20 * time.Second)
				if got := w.positions(); !slices.Equal(got, c.want) {
					t.Errorf("it is said to be %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestAnExclusiveInstanceBeginsAtOnceOnTheMachineThatIsTheNode covers a process on the machine of the process before it, and the first
// process on its machine. Neither waits for the window of another machine.
func TestAnExclusiveInstanceBeginsAtOnceOnTheMachineThatIsTheNode(t *testing.T) {
	for name, epochs := range map[string]struct{ machine, placed uint64 }{
		"placed before this process, on this machine": {1, 1},
		"placed since it joined":                      {2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.heartbeat, w.epoch, w.machine = 10*time.Second, 2, epochs.machine
				o := exclusively()
				o.Epoch = epochs.placed
				w.storeOrder(0, o)
				w.run()
				pass(15 * time.Second)
				w.want([]uint32{0}, nil)
			})
		})
	}
}
