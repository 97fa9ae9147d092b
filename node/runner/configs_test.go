package runner_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// put has a person put a config, whatever was there before.
func (w *world) put(key, value string) {
	w.t.Helper()
	k, err := w.Bus.Bucket(context.Background(), bus.BucketConfigs)
	if err != nil {
		w.t.Fatal(err)
	}
	before, _ := k.Get(context.Background(), key)
	if _, err := k.Put(context.Background(), key, []byte(value), before.Revision); err != nil {
		w.t.Fatal(err)
	}
}

func configured(names ...string) *events.Spec {
	spec := specOf(good)
	for _, name := range names {
		spec.Configs = append(spec.Configs, events.Config{Name: name, Path: "/" + name, Mode: "0444"})
	}
	return spec
}

// offline returns why the instance was said to be offline each time, and with which words.
func (w *world) offline() (reasons []events.OfflineReason, words []string) {
	w.t.Helper()
	for _, m := range w.said() {
		if s, err := events.ParseStatus(m); err == nil && s.Instance != nil && s.Instance.Phase == events.PhaseOffline {
			reasons, words = append(reasons, s.Instance.Reason), append(words, s.Instance.Message)
		}
	}
	return reasons, words
}

func TestContainersAreMadeWithConfigsAsTheyAreThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.put("demo.a", "old")
		w.put("demo.b", "b")
		w.put("team.a", "another's")
		w.tellSpec(0, events.ActionRun, configured("a", "b"))
		w.put("demo.a", "new")
		w.tellSpec(1, events.ActionRun, configured("a"))
		w.tell(2, events.ActionRun, good)
		w.want([]uint32{0, 1, 2}, nil)
		want := map[uint32][]string{0: {"a=old", "b=b"}, 1: {"a=new"}}
		if !reflect.DeepEqual(w.engine.configs, want) {
			t.Errorf("containers were made with %v, want %v", w.engine.configs, want)
		}
	})
}

func TestAnInstanceWaitsForItsConfigs(t *testing.T) {
	for name, tt := range map[string]struct {
		before, after func(*world)
		reason        events.OfflineReason
		says          string
	}{
		"missing": {
			func(*world) {}, func(w *world) { w.put("demo.a", "x") },
			events.OfflineConfigMissing, `nats kv put rookery_configs demo.a < FILE`,
		},
		"empty": {
			func(w *world) { w.put("demo.a", "") }, func(w *world) { w.put("demo.a", "x") },
			events.OfflineConfigSize, "config demo.a is empty",
		},
		"too large": {
			func(w *world) { w.put("demo.a", "x"); w.larger.Store(bus.MaxConfig) }, func(w *world) { w.larger.Store(0) },
			events.OfflineConfigSize, "262145 bytes, more than 262144",
		},
		"not to be read": {
			func(w *world) { w.put("demo.a", "x"); w.away.Store(true) }, func(w *world) { w.away.Store(false) },
			events.OfflineConfigUnread, "config demo.a cannot be read now: no answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				tt.before(w)
				w.tellSpec(0, events.ActionRun, configured("a"))
				w.want(nil, nil)
				tt.after(w)
				<-time.After(5 * time.Minute)
				w.want([]uint32{0}, nil)
				reasons, words := w.offline()
				if len(reasons) == 0 || reasons[0] != tt.reason || !strings.Contains(words[0], tt.says) {
					t.Errorf("the instance was offline as %q: %q; want %q: %q", reasons, words, tt.reason, tt.says)
				}
				if want := []string{"a=x"}; !slices.Equal(w.engine.configs[0], want) {
					t.Errorf("the container was made with %q, want %q", w.engine.configs[0], want)
				}
			})
		})
	}
}
