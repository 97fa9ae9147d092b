package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// fill reads what the plan's volumes are to hold, as an engine does that has none of it yet.
func (e *engine) fill(ctx context.Context, p node.Plan) error {
	for _, f := range p.Fills() {
		content, err := p.Content(ctx, f.Export)
		if err != nil {
			return p.Unfilled(f, err.Error())
		}
		text, err := io.ReadAll(content)
		if err = errors.Join(err, content.Close()); err != nil {
			return p.Unfilled(f, err.Error())
		}
		e.mu.Lock()
		e.filled = append(e.filled, f.Volume+"="+string(text))
		e.mu.Unlock()
	}
	return nil
}

// keep has the bus have the content under its digest, or under that of another one.
func (w *world) keep(content, under string) {
	w.t.Helper()
	if err := w.Bus.Objects(bus.ObjectsVolumes).Put(w.t.Context(), digestOf(under), strings.NewReader(content)); err != nil {
		w.t.Fatal(err)
	}
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// resume orders an instance to run whose volume "data" is to hold this.
func (w *world) resume(content string) {
	w.t.Helper()
	spec := specOf(good)
	spec.Volumes = []events.Volume{{Kind: events.VolumeNamed, Name: "data", Path: "/data"}, {Kind: events.VolumeNamed, Name: "cache", Path: "/cache"}}
	w.live <- w.storeOrder(0, events.Order{Action: events.ActionRun, Spec: spec, Restore: &events.Restore{
		Resumed: 7, Snapshot: 3, Volumes: []events.Export{{Volume: "data", Digest: digestOf(content), Size: int64(len(content))}},
	}})
	synctest.Wait()
}

func TestVolumesAreFilledBeforeAnInstanceRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*world)
		says   string
	}{
		"at once":     {func(w *world) { w.keep("kept", "kept") }, ""},
		"missing":     {func(*world) {}, "the bus does not have object " + digestOf("kept")},
		"another one": {func(w *world) { w.keep("cept", "kept") }, "has another content, with the digest " + digestOf("cept")},
		"cut":         {func(w *world) { w.keep("kep", "kept") }, "has another content, with the digest " + digestOf("kep")},
		"away":        {func(w *world) { w.away.Store(true) }, "cannot be read now: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t)
				tt.before(w)
				w.resume("kept")
				if tt.says != "" {
					w.want(nil, nil)
				}
				w.away.Store(false)
				w.keep("kept", "kept")
				<-time.After(5 * time.Minute)
				w.want([]uint32{0}, nil)
				if want := []string{"rookery." + cluster + ".demo.web.0.data=kept"}; !slices.Equal(w.engine.filled, want) {
					t.Errorf("volumes were filled with %q, want %q", w.engine.filled, want)
				}
				reasons, words := w.offline()
				switch {
				case tt.says == "" && len(reasons) == 0:
				case tt.says == "" || len(reasons) == 0 || reasons[0] != events.OfflineCreateFailed || !strings.Contains(words[0], tt.says) ||
					!strings.HasPrefix(words[0], "volume data cannot be filled from snapshot 3: "):
					t.Errorf("the instance was offline as %q: %q; want %q: %q", reasons, words, events.OfflineCreateFailed, tt.says)
				}
			})
		})
	}
}

func TestARestoreIsNothingToAnInstanceThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t)
		w.tell(0, events.ActionRun, good)
		w.want([]uint32{0}, nil)
		w.resume("kept")
		<-time.After(time.Minute)
		w.want([]uint32{0}, nil)
		if reasons, _ := w.offline(); len(reasons) > 0 || len(w.engine.filled) > 0 {
			t.Errorf("it was offline as %q, and volumes were filled with %q", reasons, w.engine.filled)
		}
	})
}
