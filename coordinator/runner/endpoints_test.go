package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections/views"
)

// TestEndpointsAreWithdrawnBeforeStop scales a service down and drops it. Whenever an order to stop is about to be stored, the bucket
// does not have the instance any more; neither as a leader takes over from one that died before it wrote either, nor after another client has
// changed the bucket.
func TestEndpointsAreWithdrawnBeforeStop(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		w := &ordersWatched{Bus: b, t: t, stopped: make(chan string, 10), seen: make(chan struct{})}
		defer start(t, w, "first")()
		hello(t, b)
		told, err := b.Subscribe(events.OrderRoot + ".>")
		if err != nil {
			t.Fatal(err)
		}
		defer told.Stop()
		tell(t, b, "ensure", `{`+peered+`,"scale":2}`)
		for ordinal := range uint32(2) {
			for m := next(t, told); !strings.Contains(string(m.Body), `"run"`); {
				m = next(t, told)
			}
			serves(t, b, ordinal)
		}
		before := awaitEndpoints(t, b, `"10.0.0.1:20000"`, `"10.0.0.1:20001"`)
		w.die(before)
		tell(t, b, "scale", `{"scale":1,"busy":"supersede"}`)
		w.wantStop("web.1")
		left := awaitEndpoints(t, b, `"10.0.0.1:20000"`)
		k, err := b.Bucket(t.Context(), bus.BucketEndpoints)
		if err == nil {
			err = k.Set(t.Context(), "demo.web.http", left)
		}
		if err != nil {
			t.Fatal(err)
		}
		tell(t, b, "drop", `{"busy":"supersede"}`)
		w.wantStop("web.0")
	})
}

// ordersWatched looks at the endpoints before it stores an order to stop.
type ordersWatched struct {
	bus.Bus
	t       *testing.T
	stopped chan string
	seen    chan struct{} // an order to stop has come

	mu sync.Mutex
	// undone is what the bucket is to have again as the leader dies with the next order to stop.
	undone []byte
}

func (w *ordersWatched) die(undone []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.undone = undone
}

func (w *ordersWatched) Append(ctx context.Context, stream bus.Stream, last uint64, messages []events.Message) (uint64, error) {
	for _, m := range messages {
		if stream != bus.Orders || m.Subject == events.OrdersEpochSubject {
			continue
		}
		_, id, o, err := events.ParseOrder(m)
		if err != nil || o.Action != events.ActionStop {
			continue
		}
		shown := endpoints(w.t, w.Bus)
		address := []string{"10.0.0.1:20000", "10.0.0.1:20001"}[id.Ordinal]
		if strings.Contains(string(shown.Value), address) {
			w.t.Errorf("%s is told to stop, and the endpoints are %s", id, shown.Value)
		}
		select {
		case w.seen <- struct{}{}:
		default:
		}
		w.mu.Lock()
		undone := w.undone
		w.undone = nil
		w.mu.Unlock()
		if undone == nil {
			w.stopped <- m.Subject
			continue
		}
		k, err := w.Bucket(ctx, bus.BucketEndpoints)
		if err == nil {
			err = k.Set(ctx, "demo.web.http", undone)
		}
		if err != nil {
			w.t.Error(err)
		}
		return 0, errors.New("this ends the term")
	}
	return w.Bus.Append(ctx, stream, last, messages)
}

// Bucket gives the endpoints slowly, so that an order which does not wait for them comes first.
func (w *ordersWatched) Bucket(ctx context.Context, name string) (bus.Bucket, error) {
	k, err := w.Bus.Bucket(ctx, name)
	if err != nil || name != bus.BucketEndpoints {
		return k, err
	}
	return slowBucket{k, w.seen}, nil
}

type slowBucket struct {
	bus.Bucket
	seen chan struct{}
}

func (k slowBucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	select {
	case <-k.seen:
	case <-time.After(100 * time.Millisecond):
	}
	return k.Bucket.Put(ctx, key, value, revision)
}

func (w *ordersWatched) wantStop(of string) {
	w.t.Helper()
	select {
	case subject := <-w.stopped:
		if !strings.Contains(subject, of) {
			w.t.Fatalf("%s is told to stop, want %s", subject, of)
		}
	case <-time.After(patience):
		w.t.Fatal("nothing is told to stop")
	}
}

func endpoints(t *testing.T, b bus.Bus) bus.Entry {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	k, err := b.Bucket(ctx, bus.BucketEndpoints)
	if err != nil {
		t.Error(err)
		return bus.Entry{}
	}
	e, _ := k.Get(ctx, "demo.web.http") // none where nothing has ports
	return e
}

// awaitEndpoints waits until the value has these addresses and no others, and returns it.
func awaitEndpoints(t *testing.T, b bus.Bus, addresses ...string) []byte {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); {
		value := string(endpoints(t, b).Value)
		found := strings.Count(value, `"address"`) == len(addresses)
		for _, address := range addresses {
			found = found && strings.Contains(value, address)
		}
		if found {
			return []byte(value)
		}
	}
	t.Fatalf("the endpoints do not come to be %q", addresses)
	return nil
}

// serves reports, as the node, that the slot's first instance serves.
func serves(t *testing.T, b bus.Bus, ordinal uint32) {
	t.Helper()
	s := events.InstanceStatus{InstanceState: events.InstanceState{
		Namespace: web.Namespace, Name: web.Name, Ordinal: ordinal, Generation: 1, Revision: 1,
		Position: events.Position{Epoch: 1, Phase: events.PhaseOnline},
	}}
	m, err := events.Encode(events.InstanceStatusSubject("n0", s.ID()), s, events.Attributes{ID: s.ID().String(), Source: "/test", Time: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// TestALeaderOfBeforeBringsNoAddressBack starts a writer of views that knows less of the log than the endpoints show. It also starts one
// that finds endpoints of a lost log.
func TestALeaderOfBeforeBringsNoAddressBack(t *testing.T) {
	both(t, func(t *testing.T, b bus.Bus) {
		const key, end = "demo.web.http", 3
		for last := range uint64(end) {
			m := events.Message{Subject: events.LogRoot + ".cluster.adopted", Header: events.Header{}, Body: []byte("{}")}
			if _, err := b.Append(t.Context(), bus.Log, last, []events.Message{m}); err != nil {
				t.Fatal(err)
			}
		}
		bucket, err := b.Bucket(t.Context(), bus.BucketEndpoints)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct{ stored, shown, want uint64 }{
			{end, end - 1, end},
			{end + 1, end - 1, end - 1},
			{end - 1, end, end},
		} {
			if err := bucket.Set(t.Context(), key, valueAt(row.stored)); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			w := views.Start(ctx, b, slog.New(slog.DiscardHandler), []string{bus.BucketEndpoints}, views.Changes{
				Values: map[views.Key][]byte{{Bucket: bus.BucketEndpoints, Key: key}: valueAt(row.shown)}, Sequence: row.shown,
			})
			written := w.Written(ctx)
			stop()
			w.Wait()
			e, err := bucket.Get(t.Context(), key)
			if err != nil || string(e.Value) != string(valueAt(row.want)) || (written == nil) != (row.want == row.shown) {
				t.Errorf("a log of %d, a value of %d and a writer of %d leave %s, %v, and tell %v", end, row.stored, row.shown, e.Value, err, written)
			}
		}
	})
}

// valueAt is the value of an endpoint that another value is not the same as.
func valueAt(sequence uint64) []byte {
	return fmt.Appendf(nil, `{"addresses":[{"ordinal":%d}],"sequence":%d}`, sequence, sequence)
}

// TestALeaderWritesTheViewsAgain changes a value of each kind of writer as an operator could: without another event, the leader writes both
// again.
func TestALeaderWritesTheViewsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		told := subscribed(t, b, events.EventRoot+".service.demo.web.>")
		defer told.Stop()
		defer start(t, b, "first")()
		hello(t, b)
		tell(t, b, "ensure", `{`+peered+`}`)
		until(t, told, "instance.placed")
		serves(t, b, 0)
		until(t, told, "command.succeeded")
		for name, key := range map[string]string{bus.BucketEndpoints: "demo.web.http", bus.BucketInstances: "demo.web.0"} {
			<-time.After(time.Minute)
			k, err := b.Bucket(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			before, err := k.Get(t.Context(), key)
			if err == nil {
				err = k.Set(t.Context(), key, []byte(`{}`))
			}
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(11 * time.Second)
			after, err := k.Get(t.Context(), key)
			if timed := regexp.MustCompile(`"sequence":\d+`); err != nil || timed.ReplaceAllString(string(after.Value), "") != timed.ReplaceAllString(string(before.Value), "") {
				t.Errorf("%s of %s is %s, %v, want %s", key, name, after.Value, err, before.Value)
			}
		}
	})
}
