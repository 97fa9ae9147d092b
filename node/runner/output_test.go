package runner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

const outputKey = "demo.web.0.1.0"

// outputs returns what the instance's statuses refer to each time that it is offline, and when they were stored.
func (w *world) outputs() (keys []string, at []time.Duration) {
	w.t.Helper()
	for _, m := range w.said() {
		if s, err := events.ParseStatus(m); err == nil && s.Instance != nil && s.Instance.Phase == events.PhaseOffline {
			keys, at = append(keys, s.Instance.Output), append(at, m.Time.Sub(w.began))
		}
	}
	return keys, at
}

// wantKept wants these lines to stand under the key, and "" for none.
func (w *world) wantKept(key, want string) {
	w.t.Helper()
	k, err := w.Bus.Bucket(context.Background(), bus.BucketOutput)
	if err != nil {
		w.t.Fatal(err)
	}
	e, err := k.Get(context.Background(), key)
	if got := string(e.Value); got != want || (err != nil) != (want == "") || (err != nil && !errors.Is(err, bus.ErrNoKey)) {
		w.t.Errorf("under %s stands %q, %v; want %q", key, got, err, want)
	}
}

func TestWhatAFailedContainerPrintedIsKept(t *testing.T) {
	for name, tt := range map[string]struct {
		prints string
		slow   time.Duration
		away   bool
		key    string        // that the status refers to
		waits  time.Duration // for the lines
	}{
		"something":             {prints: "it broke\n", key: outputKey},
		"nothing":               {},
		"after a while":         {prints: "it broke\n", slow: 300 * time.Millisecond, key: outputKey, waits: 300 * time.Millisecond},
		"not to be read":        {prints: "it broke\n", slow: time.Hour, waits: time.Second},
		"while the bus is away": {prints: "it broke\n", away: true, waits: 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				w.engine.crashes, w.engine.prints, w.engine.slow = 1, tt.prints, tt.slow
				w.away.Store(tt.away)
				w.tell(0, events.ActionRun, good)
				w.away.Store(false)
				<-time.After(3 * time.Second / 2)
				w.want([]uint32{0}, nil)
				keys, at := w.outputs()
				if !slices.Equal(keys, []string{tt.key}) || at[0] != tt.waits {
					t.Errorf("it was offline with %q at %s, want %q at %s", keys, at, tt.key, tt.waits)
				}
				if tt.key != "" {
					w.wantKept(tt.key, tt.prints)
				} else {
					w.wantKept(outputKey, "")
				}
				for _, m := range w.said() {
					if strings.Contains(string(m.Body), "it broke") {
						t.Errorf("a status has the lines: %s", m.Body)
					}
				}
			})
		})
	}
}

func TestAContainerStaysUntilItsOutputIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.engine.crashes, w.engine.prints, w.engine.slow = 1, "it broke\n", time.Second/2
		w.tell(0, events.ActionRun, good)
		w.tell(0, events.ActionStop, good)
		w.want(nil, []uint32{0})
		<-time.After(time.Second / 2)
		w.want(nil, nil)
		w.wantKept(outputKey, "it broke\n")
		want := []string{"0 prepared", "0 started", "0 offline", "0 removed"}
		if got := w.positions(); !slices.Equal(got, want) {
			t.Errorf("the node said %q, want %q", got, want)
		}
		if keys, _ := w.outputs(); !slices.Equal(keys, []string{outputKey}) {
			t.Errorf("its end refers to %q", keys)
		}
	})
}

func TestTheNextAttemptHasAKeyOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.engine.crashes, w.engine.prints = 2, "it broke\n"
		w.tell(0, events.ActionRun, good)
		<-time.After(time.Minute)
		w.want([]uint32{0}, nil)
		if keys, _ := w.outputs(); !slices.Equal(keys, []string{outputKey, "demo.web.0.1.1"}) {
			t.Errorf("its ends refer to %q", keys)
		}
		w.wantKept("demo.web.0.1.1", "it broke\n")
	})
}

// TestAListWaitsForTheOutputOfWhatFailedMeanwhile has a container end while no process of the node looks. By the time of the
// list it may be started again.
func TestAListWaitsForTheOutputOfWhatFailedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.engine.prints, w.engine.slow = "it broke\n", time.Second/2
		w.store(0, events.ActionRun, good)
		id := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1}
		w.engine.containers[id] = &node.Container{Handle: "1", Instance: id, State: node.Exited, ExitCode: 3}
		w.run()
		<-time.After(3 * time.Second / 4)
		if keys, _ := w.outputs(); !slices.Equal(keys, []string{outputKey}) {
			t.Errorf("its end refers to %q", keys)
		}
		told := false
		for _, m := range w.said() {
			s, err := events.ParseStatus(m)
			if err == nil && s.List != nil && !told {
				t.Errorf("the list comes before the status: %s", m.Body)
			}
			told = told || (err == nil && s.Instance != nil && s.Instance.Phase == events.PhaseOffline)
		}
		w.wantKept(outputKey, "it broke\n")
	})
}
