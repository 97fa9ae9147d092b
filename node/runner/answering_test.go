package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
)

// engines returns what the node has said of its engine, in order.
func (w *world) engines() []string {
	w.t.Helper()
	var all []string
	for _, m := range w.said() {
		if s, err := events.ParseStatus(m); err == nil && s.Engine != nil {
			all = append(all, fmt.Sprint(s.Engine.Epoch, " ", s.Engine.Degraded))
		}
	}
	return all
}

func (w *world) wantEngines(want ...string) {
	w.t.Helper()
	synctest.Wait()
	said := w.engines()
	same := slices.EqualFunc(said, want, strings.HasPrefix)
	if !same {
		w.t.Errorf("the node said %q of its engine, want %q", said, want)
	}
}

func TestANodeJoinsWhoseEngineStartsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.engine.booting = 25 * time.Second
		w.run()
		<-time.After(w.engine.booting)
		w.tell(0, events.ActionRun, good)
		w.want([]uint32{0}, nil)
	})
}

// TestANodeIsDegradedWhoseEngineHangs has the engine hang for minutes: what runs there is let run, what is to come waits and is
// counted as no failure, and all of it comes by the first look that is answered.
func TestANodeIsDegradedWhoseEngineHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		const often = events.Duration(time.Second)
		spec := &events.Spec{Image: asked}
		spec.Health = &events.Health{Exec: []string{"/check"}, Interval: often, Timeout: often, Retries: 1}
		w.tellSpec(0, events.ActionRun, spec)
		w.wantEngines()
		w.engine.ail(true, false)
		<-time.After(15 * time.Second) // the time to the next look, and its own
		w.wantEngines("1 its engine does not answer within 10s")
		w.tell(1, events.ActionRun, good)
		<-time.After(5 * time.Minute)
		w.want([]uint32{0}, nil)
		w.engine.ail(false, false)
		<-time.After(10 * time.Second)
		w.wantEngines("1 its engine does not answer within 10s", "1 ")
		w.want([]uint32{0, 1}, nil)
		want := []string{"0 prepared", "0 started", "0 online", "0 prepared", "0 started", "0 online"}
		if said := w.positions(); !slices.Equal(said, want) {
			t.Errorf("the node said %q, want %q", said, want)
		}
	})
}

func TestANodeIsNotDegradedWhoseEngineStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		<-time.After(time.Second)
		w.engine.ail(false, true)
		<-time.After(5 * time.Second) // one look
		w.engine.ail(false, false)
		<-time.After(5 * time.Second)
		w.engine.ail(false, true)
		<-time.After(5 * time.Second)
		w.wantEngines()
		<-time.After(5 * time.Second)
		w.wantEngines("1 " + errFailing.Error())
	})
}

// TestAnEngineIsSaidUntilItIsKnown makes the bus unreachable when the engine begins to hang.
func TestAnEngineIsSaidUntilItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.engine.ail(true, false)
		w.away.Store(true)
		<-time.After(time.Minute)
		w.wantEngines()
		w.away.Store(false)
		<-time.After(time.Second)
		w.wantEngines("1 its engine does not answer within 10s")
	})
}
