package conformance

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

var keeping = []promise{
	{"a key is written at its revision alone", bucketPut},
	{"a key that is missing says so", bucketMissing},
	{"a key is deleted at its revision alone, and can be made again", bucketDelete},
	{"all entries of a bucket are listed, without those deleted", bucketAll},
	{"a bucket tells its last change", bucketLast},
	{"a bucket opened twice is one, and two names are two", bucketNames},
	{"a key is set whatever revision it has", bucketSet},
	{"configs have a greatest size", bucketConfigs},
	{"outputs have a greatest size, and one value a key", bucketOutput},
}

func (s *suite) bucket(name string) bus.Bucket {
	s.Helper()
	k, err := s.bus.Bucket(s.ctx, name)
	s.need(err)
	return k
}

func (s *suite) put(k bus.Bucket, key, value string, revision uint64) uint64 {
	s.Helper()
	next, err := k.Put(s.ctx, key, []byte(value), revision)
	s.need(err)
	return next
}

func (s *suite) wantEntry(k bus.Bucket, key, value string, revision uint64) {
	s.Helper()
	e, err := k.Get(s.ctx, key)
	s.need(err)
	if e.Key != key || string(e.Value) != value || e.Revision != revision || e.Stored.IsZero() {
		s.Fatalf("the entry is %+v, want %s %q at %d", e, key, value, revision)
	}
}

func bucketPut(s *suite) {
	k := s.bucket(bus.BucketServices)
	first := s.put(k, "demo.web", "a", 0)
	s.wantEntry(k, "demo.web", "a", first)
	_, err := k.Put(s.ctx, "demo.web", []byte("x"), 0)
	s.wantError("put as new what is there", err, bus.ErrPosition)
	second := s.put(k, "demo.web", "b", first)
	if second <= first {
		s.Fatalf("the revision went from %d to %d", first, second)
	}
	for _, stale := range []uint64{first, second + 1} {
		_, err := k.Put(s.ctx, "demo.web", []byte("x"), stale)
		s.wantError("put at another revision", err, bus.ErrPosition)
	}
	_, err = k.Put(s.ctx, "demo.missing", []byte("x"), 7)
	s.wantError("put at a revision of a key that is missing", err, bus.ErrPosition)
	s.wantEntry(k, "demo.web", "b", second)
}

func bucketMissing(s *suite) {
	_, err := s.bucket(bus.BucketServices).Get(s.ctx, "demo.missing")
	s.wantError("get what is missing", err, bus.ErrNoKey)
}

func bucketDelete(s *suite) {
	k := s.bucket(bus.BucketServices)
	first := s.put(k, "demo.web", "a", 0)
	second := s.put(k, "demo.web", "b", first)
	for _, stale := range []uint64{0, first, second + 1} {
		s.wantError("delete at another revision", k.Delete(s.ctx, "demo.web", stale), bus.ErrPosition)
	}
	s.wantEntry(k, "demo.web", "b", second)
	s.need(k.Delete(s.ctx, "demo.web", second))
	_, err := k.Get(s.ctx, "demo.web")
	s.wantError("get what was deleted", err, bus.ErrNoKey)
	_, err = k.Put(s.ctx, "demo.web", []byte("x"), second)
	s.wantError("put at the revision before the delete", err, bus.ErrPosition)
	s.wantError("delete what was deleted", k.Delete(s.ctx, "demo.web", second), bus.ErrPosition)
	third := s.put(k, "demo.web", "c", 0)
	if third <= second {
		s.Fatalf("the revision went from %d to %d over a delete", second, third)
	}
	s.wantEntry(k, "demo.web", "c", third)
}

func bucketAll(s *suite) {
	k := s.bucket(bus.BucketNodes)
	all, err := k.All(s.ctx)
	s.need(err)
	if len(all) != 0 {
		s.Fatalf("an empty bucket has %d entries", len(all))
	}
	a := s.put(k, "a", "1", 0)
	b := s.put(k, "b", "2", 0)
	c := s.put(k, "c", "3", s.put(k, "c", "old", 0))
	s.need(k.Delete(s.ctx, "a", a))
	all, err = k.All(s.ctx)
	s.need(err)
	slices.SortFunc(all, func(x, y bus.Entry) int { return strings.Compare(x.Key, y.Key) })
	if len(all) != 2 || all[0].Key != "b" || all[1].Key != "c" || all[0].Revision != b || all[1].Revision != c ||
		string(all[1].Value) != "3" {
		s.Fatalf("the entries are %+v, want b and c", all)
	}
}

func bucketNames(s *suite) {
	revision := s.put(s.bucket(bus.BucketServices), "demo.web", "a", 0)
	s.wantEntry(s.bucket(bus.BucketServices), "demo.web", "a", revision)
	_, err := s.bucket(bus.BucketNodes).Get(s.ctx, "demo.web")
	s.wantError("get from another bucket", err, bus.ErrNoKey)
}

func bucketSet(s *suite) {
	k := s.bucket(bus.BucketServices)
	s.need(k.Set(s.ctx, "demo.web", []byte("a")))
	first, err := k.Get(s.ctx, "demo.web")
	s.need(err)
	s.wantEntry(k, "demo.web", "a", first.Revision)
	s.need(k.Set(s.ctx, "demo.web", []byte("b")))
	_, err = k.Put(s.ctx, "demo.web", []byte("x"), first.Revision)
	s.wantError("put at the revision before it was set", err, bus.ErrPosition)
	second, err := k.Get(s.ctx, "demo.web")
	s.need(err)
	if string(second.Value) != "b" || second.Revision <= first.Revision {
		s.Fatalf("the entry is %+v, want b after revision %d", second, first.Revision)
	}
	s.need(k.Delete(s.ctx, "demo.web", second.Revision))
	s.need(k.Set(s.ctx, "demo.web", []byte("c")))
	third, err := k.Get(s.ctx, "demo.web")
	s.need(err)
	s.wantEntry(k, "demo.web", "c", third.Revision)
}

func bucketOutput(s *suite) {
	const more = 2 << 10 // than the value and what goes with it
	k := s.bucket(bus.BucketOutput)
	large := bytes.Repeat([]byte("a"), events.MaxOutput+more)
	s.wantError("set what is too large", k.Set(s.ctx, "demo.web.0.1.0", large), bus.ErrTooLarge)
	_, err := k.Get(s.ctx, "demo.web.0.1.0")
	s.wantError("get what was refused", err, bus.ErrNoKey)
	fits := large[:events.MaxOutput]
	s.need(k.Set(s.ctx, "demo.web.0.1.0", fits))
	s.need(k.Set(s.ctx, "demo.web.0.1.0", fits[1:]))
	all, err := s.bucket(bus.BucketOutput).All(s.ctx)
	s.need(err)
	if len(all) != 1 || !bytes.Equal(all[0].Value, fits[1:]) {
		s.Fatalf("the bucket has %d entries, want one with the last value", len(all))
	}
}

func bucketConfigs(s *suite) {
	const headers = 1 << 10 // a client's own, which count
	k := s.bucket(bus.BucketConfigs)
	large := bytes.Repeat([]byte("a"), bus.MaxConfig+1)
	_, err := k.Put(s.ctx, "demo.web-conf", large, 0)
	s.wantError("put what is too large", err, bus.ErrTooLarge)
	_, err = k.Get(s.ctx, "demo.web-conf")
	s.wantError("get what was refused", err, bus.ErrNoKey)
	fits := string(large[:bus.MaxConfig-headers])
	first := s.put(k, "demo.web-conf", fits, 0)
	s.wantEntry(s.bucket(bus.BucketConfigs), "demo.web-conf", fits, first)
}

func bucketLast(s *suite) {
	k := s.bucket(bus.BucketServices)
	last := func() uint64 {
		n, err := k.Last(s.ctx)
		if err != nil {
			s.Fatal(err)
		}
		return n
	}
	revision := s.put(k, "demo.web", "a", 0)
	if last() != revision {
		s.Errorf("the last change is %d, want %d", last(), revision)
	}
	s.put(k, "demo.db", "b", 0)
	if last() == revision {
		s.Error("another key's change is not told")
	}
}
