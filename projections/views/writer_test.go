package views_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/projections/views"
)

// counted is a bus that counts the writes to its buckets, and refuses them while it is away.
type counted struct {
	bus.Bus
	puts, deletes, reads atomic.Int64
	away                 atomic.Bool
}

var errAway = errors.New("away")

type countedBucket struct {
	bus.Bucket
	*counted
}

func (c *counted) Bucket(ctx context.Context, name string) (bus.Bucket, error) {
	b, err := c.Bus.Bucket(ctx, name)
	return countedBucket{b, c}, err
}

func (b countedBucket) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	b.puts.Add(1)
	if b.away.Load() {
		return 0, errAway
	}
	return b.Bucket.Put(ctx, key, value, revision)
}

func (b countedBucket) Delete(ctx context.Context, key string, revision uint64) error {
	b.deletes.Add(1)
	return b.Bucket.Delete(ctx, key, revision)
}

func (b countedBucket) All(ctx context.Context) ([]bus.Entry, error) {
	b.reads.Add(1)
	return b.Bucket.All(ctx)
}

// shown is the owner of a writer of the bucket of nodes, in a test.
type shown struct {
	t      *testing.T
	ctx    context.Context
	bus    *counted
	all    views.Changes
	writer *views.Writer
}

// start starts a writer with all values, and waits until they are written.
func (s *shown) start() {
	s.t.Helper()
	s.writer = views.Start(s.ctx, s.bus, slog.New(slog.DiscardHandler), []string{bus.BucketNodes}, s.all)
	if err := s.writer.Written(s.ctx); err != nil {
		s.t.Error(err)
	}
}

// startsAgain checks that the writer has ended, and starts another one.
func (s *shown) startsAgain() {
	s.t.Helper()
	if s.writer.Err() == nil {
		s.t.Error("the writer goes on, although it cannot know what the bucket has")
	}
	s.writer.Wait()
	s.start()
}

func nodes(sequence uint64, values map[string]string) views.Changes {
	c := views.Changes{Values: map[views.Key][]byte{}, Sequence: sequence}
	for key, value := range values {
		var body []byte
		if value != "" {
			body = []byte(value)
		}
		c.Values[views.Key{Bucket: bus.BucketNodes, Key: key}] = body
	}
	return c
}

// has checks that the bucket has these values and no others.
func (s *shown) has(want map[string]string) {
	s.t.Helper()
	b, err := s.bus.Bus.Bucket(s.t.Context(), bus.BucketNodes)
	if err != nil {
		s.t.Fatal(err)
	}
	all, err := b.All(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range all {
		got[e.Key] = string(e.Value)
	}
	if !maps.Equal(got, want) {
		s.t.Errorf("the bucket has %v, want %v", got, want)
	}
}

// check waits until the writer has checked its bucket.
func (s *shown) check() {
	s.writer.Check()
	synctest.Wait()
}

// goesOn checks that the writer finds no change by another client.
func (s *shown) goesOn() {
	s.t.Helper()
	if s.check(); s.writer.Err() != nil {
		s.t.Errorf("the writer is alone, and ends: %v", s.writer.Err())
	}
}

// wrote checks how often the writer has put and deleted values since the last call.
func (s *shown) wrote(puts, deletes int64) {
	s.t.Helper()
	if put, deleted := s.bus.puts.Swap(0), s.bus.deletes.Swap(0); put != puts || deleted != deletes {
		s.t.Errorf("the writer has put %d values and deleted %d, want %d and %d", put, deleted, puts, deletes)
	}
}

// note hands changes over.
func (s *shown) note(c views.Changes) {
	s.all.Merge(c)
	s.all.Sequence = c.Sequence
	s.writer.Show(c)
}

func (s *shown) show(c views.Changes) {
	s.t.Helper()
	s.note(c)
	if err := s.writer.Written(s.ctx); err != nil {
		s.t.Error(err)
	}
}

// inTest runs a test with a writer that starts with the values.
func inTest(t *testing.T, before func(bus.Bucket), begin views.Changes, test func(*shown)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		s := &shown{t: t, ctx: ctx, bus: &counted{Bus: memory.New(time.Now)}, all: begin}
		b, err := s.bus.Bus.Bucket(t.Context(), bus.BucketNodes)
		if err != nil {
			t.Fatal(err)
		}
		before(b)
		s.start()
		test(s)
		end()
		s.writer.Wait()
	})
}

func empty(bus.Bucket) {}

// TestAWriterWritesOnlyWhatChanges starts with a bucket that an earlier leader filled, and then changes, keeps and removes values.
func TestAWriterWritesOnlyWhatChanges(t *testing.T) {
	left := func(b bus.Bucket) {
		for key, value := range map[string]string{"a": `{"state":"ready"}`, "gone": `{"state":"ready"}`} {
			if _, err := b.Put(context.Background(), key, []byte(value), 0); err != nil {
				t.Error(err)
			}
		}
	}
	inTest(t, left, nodes(1, map[string]string{"a": `{"state":"ready"}`, "b": `{"state":"lost"}`}), func(s *shown) {
		s.has(map[string]string{"a": `{"state":"ready"}`, "b": `{"state":"lost"}`})
		s.wrote(1, 1)
		s.show(nodes(2, map[string]string{"a": `{"state":"lost"}`, "b": `{"state":"lost"}`}))
		s.has(map[string]string{"a": `{"state":"lost"}`, "b": `{"state":"lost"}`})
		s.wrote(1, 0)
		s.show(nodes(3, map[string]string{"a": "", "never": ""}))
		s.has(map[string]string{"b": `{"state":"lost"}`})
		s.wrote(0, 1)
		s.show(nodes(4, map[string]string{"a": `{"state":"ready"}`}))
		s.has(map[string]string{"a": `{"state":"ready"}`, "b": `{"state":"lost"}`})
		s.wrote(1, 0)
		s.goesOn()
		s.wrote(0, 0)
	})
}

// TestAWriterReadsNothingAsLongAsItIsAlone checks that the writer does not read buckets that no other client changes.
func TestAWriterReadsNothingAsLongAsItIsAlone(t *testing.T) {
	inTest(t, empty, nodes(1, map[string]string{"a": `{}`, "b": `{}`}), func(s *shown) {
		gone := nodes(2, map[string]string{"a": `{"state":"lost"}`})
		gone.Values[views.Key{Bucket: bus.BucketNodes, Key: "b"}] = nil
		s.show(gone)
		s.show(nodes(3, map[string]string{"a": `{"state":"ready"}`}))
		s.bus.reads.Store(0)
		s.goesOn()
		if reads := s.bus.reads.Load(); reads > 0 {
			t.Errorf("the writer has read the bucket %d times, want 0", reads)
		}
	})
}

// TestAnotherWriterRepairsWhatOthersChange changes, removes and adds values as an operator could. The writer ends, and another one repairs
// them.
func TestAnotherWriterRepairsWhatOthersChange(t *testing.T) {
	want := map[string]string{"a": `{"state":"ready"}`, "b": `{"state":"lost"}`}
	inTest(t, empty, nodes(1, want), func(s *shown) {
		b, err := s.bus.Bus.Bucket(s.t.Context(), bus.BucketNodes)
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.Get(s.t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.Set(s.t.Context(), "a", []byte(`{}`)), b.Delete(s.t.Context(), "b", e.Revision), b.Set(s.t.Context(), "c", []byte(`{}`))); err != nil {
			t.Fatal(err)
		}
		s.check()
		s.startsAgain()
		s.has(want)
		if err := b.Set(s.t.Context(), "b", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		s.note(nodes(2, map[string]string{"b": `{"state":"silent"}`}))
		if err := s.writer.Written(s.ctx); !errors.Is(err, bus.ErrPosition) {
			t.Errorf("the writer's put finds another revision, but Written returns %v", err)
		}
		s.startsAgain()
		s.has(map[string]string{"a": `{"state":"ready"}`, "b": `{"state":"silent"}`})
		if err := b.Set(s.t.Context(), "c", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		s.show(nodes(3, map[string]string{"b": `{"state":"ready"}`})) // the writer puts this after that change, before it checks
		s.check()
		s.startsAgain()
		s.has(map[string]string{"a": `{"state":"ready"}`, "b": `{"state":"ready"}`})
	})
}

// TestAnotherWriterCatchesUpOnceTheBusIsBack lets the bus refuse writes for a while.
func TestAnotherWriterCatchesUpOnceTheBusIsBack(t *testing.T) {
	inTest(t, empty, nodes(1, map[string]string{"a": `{"state":"ready"}`}), func(s *shown) {
		s.wrote(1, 0)
		s.bus.away.Store(true)
		for sequence, state := range []string{"silent", "lost"} {
			s.note(nodes(uint64(sequence)+2, map[string]string{"a": `{"state":"` + state + `"}`}))
			if err := s.writer.Written(s.ctx); !errors.Is(err, errAway) {
				t.Errorf("the bus refuses writes, but Written returns %v", err)
			}
		}
		s.wrote(1, 0)
		s.has(map[string]string{"a": `{"state":"ready"}`})
		s.bus.away.Store(false)
		s.startsAgain()
		s.has(map[string]string{"a": `{"state":"lost"}`})
	})
}

// held is a bus whose buckets open once its gate opens.
type held struct {
	bus.Bus
	gate chan struct{}
}

func (h held) Bucket(ctx context.Context, name string) (bus.Bucket, error) {
	<-h.gate
	return h.Bus.Bucket(ctx, name)
}

// TestAPortThatComesAndGoesBeforeItIsWrittenIsNotWritten adds a port and removes it again while the writer waits for the bus.
func TestAPortThatComesAndGoesBeforeItIsWrittenIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := held{memory.New(time.Now), make(chan struct{})}
		web := events.ServiceID{Namespace: "demo", Name: "web"}
		ctx, end := context.WithCancel(t.Context())
		w := views.Start(ctx, b, slog.New(slog.DiscardHandler), []string{bus.BucketEndpoints}, views.Changes{})
		synctest.Wait()
		w.Show(views.Changes{
			Values: map[views.Key][]byte{{Bucket: bus.BucketEndpoints, Key: "demo.web.http"}: []byte(`{"port":"http","sequence":1}`)},
			Ports:  map[events.ServiceID][]string{web: {"http"}}, Sequence: 1,
		})
		w.Show(views.Changes{Ports: map[events.ServiceID][]string{web: {}}, Sequence: 2})
		close(b.gate)
		if err := w.Written(ctx); err != nil {
			t.Error(err)
		}
		bucket, err := b.Bucket(ctx, bus.BucketEndpoints)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := bucket.Get(ctx, "demo.web.http"); err == nil {
			t.Errorf("the port is gone, but its endpoints are %s", e.Value)
		}
		end()
		w.Wait()
	})
}

// TestSlotsThatGoAreShownNoMore scales down a service with a gap among its slots, once while the writer waits for the bus.
func TestSlotsThatGoAreShownNoMore(t *testing.T) {
	web := events.ServiceID{Namespace: "demo", Name: "web"}
	of := func(sequence uint64, slots int, ordinals ...int) views.Changes {
		c := views.Changes{Values: map[views.Key][]byte{}, Slots: map[events.ServiceID]int{web: slots}, Sequence: sequence}
		for _, o := range ordinals {
			c.Values[views.Key{Bucket: bus.BucketInstances, Key: fmt.Sprintf("demo.web.%d", o)}] = fmt.Appendf(nil, `{"ordinal":%d}`, o)
		}
		return c
	}
	for name, waits := range map[string]bool{"written one by one": false, "written together": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := held{memory.New(time.Now), make(chan struct{})}
				if !waits {
					close(b.gate)
				}
				ctx, end := context.WithCancel(t.Context())
				w := views.Start(ctx, b, slog.New(slog.DiscardHandler), []string{bus.BucketInstances}, of(0, 0))
				for _, c := range []views.Changes{of(1, 5, 0, 1, 2, 4), of(2, 2)} {
					synctest.Wait()
					w.Show(c)
				}
				if waits {
					close(b.gate)
				}
				if err := w.Written(ctx); err != nil {
					t.Error(err)
				}
				bucket, err := b.Bucket(ctx, bus.BucketInstances)
				if err != nil {
					t.Fatal(err)
				}
				all, err := bucket.All(ctx)
				if err != nil || len(all) != 2 {
					t.Errorf("the bucket shows %d slots, want 2: %v, %v", len(all), all, err)
				}
				end()
				w.Wait()
			})
		})
	}
}

// TestAnInstanceIsWrittenAgainOnlyIfItHasChanged starts a writer behind an earlier one. It writes no instance for another sequence alone.
func TestAnInstanceIsWrittenAgainOnlyIfItHasChanged(t *testing.T) {
	b := &counted{Bus: memory.New(time.Now)}
	for _, row := range []struct {
		state    string
		sequence uint64
		puts     int64
	}{{"pending", 1, 1}, {"pending", 2, 0}, {"online", 3, 1}} {
		ctx, end := context.WithCancel(t.Context())
		value := fmt.Appendf(nil, `{"status":%q,"sequence":%d}`, row.state, row.sequence)
		w := views.Start(ctx, b, slog.New(slog.DiscardHandler), []string{bus.BucketInstances}, views.Changes{
			Values: map[views.Key][]byte{{Bucket: bus.BucketInstances, Key: "demo.web.0"}: value}, Sequence: row.sequence,
		})
		if err := w.Written(ctx); err != nil {
			t.Error(err)
		}
		end()
		w.Wait()
		if puts := b.puts.Swap(0); puts != row.puts {
			t.Errorf("%s is put %d times, want %d", value, puts, row.puts)
		}
	}
}

// TestChangesAddUp checks that Together merges two lists of changes: a field that gets its old value back is not a change.
func TestChangesAddUp(t *testing.T) {
	change := func(key, field, before, after string) views.Change {
		return views.Change{Bucket: "b", Key: key, Field: field, Before: []byte(before), After: []byte(after)}
	}
	got := views.Together(
		[]views.Change{change("a", "x", "1", "2"), change("a", "y", "1", "2"), change("b", "x", "1", "2")},
		[]views.Change{change("a", "x", "2", "3"), change("a", "y", "2", "1"), change("c", "x", "", "1")},
	)
	want := []views.Change{change("a", "x", "1", "3"), change("b", "x", "1", "2"), change("c", "x", "", "1")}
	same := func(a, b views.Change) bool {
		return a.Key == b.Key && a.Field == b.Field && string(a.Before) == string(b.Before) && string(a.After) == string(b.After)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("the merged changes are %s, want %s", got, want)
	}
}
