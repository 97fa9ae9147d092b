package main

import (
	"errors"
	"fmt"
	"sync"
	"testing"
)

var (
	three    = shape{ConfigVersion: 4, Scale: 3}
	seven    = shape{ConfigVersion: 5, Scale: 7}
	threeNew = shape{ConfigVersion: 6, Scale: 3}
)

// moving returns a key that slot 0 owns under scale 3, and slot 4 under scale 7; staying one that slot 0 owns under both.
func moving() string  { return keyOwned(0, 4) }
func staying() string { return keyOwned(0, 0) }

func keyOwned(underThree, underSeven uint32) string {
	for n := 0; ; n++ {
		if key := fmt.Sprint("key-", n); owner(key, 3) == underThree && owner(key, 7) == underSeven {
			return key
		}
	}
}

func slotOf(ordinal uint32, inForce shape) *store {
	return newStore(topology{shape: inForce, Ordinal: ordinal})
}

// stands checks what the store says to a read of the key: nil and errNoKey both say that it serves it.
func stands(t *testing.T, s *store, key string, want error) {
	t.Helper()
	_, _, err := s.get(key)
	if served := err == nil || errors.Is(err, errNoKey); served && want == nil {
		return
	}
	if !errors.Is(err, want) {
		t.Errorf("slot %d says %v of %q, want %v", s.ordinal, err, key, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, s *store, key, value string) entry {
	t.Helper()
	e, _, err := s.put(key, []byte(value))
	must(t, err)
	return e
}

// TestAKeyMoves follows one key from slot 0 to slot 4 and back, as the change is given up after slot 4 has acquired.
func TestAKeyMoves(t *testing.T) {
	before, after := slotOf(0, three), slotOf(4, three)
	write(t, before, moving(), "a")
	stands(t, after, moving(), elsewhereError{0, three})

	must(t, before.release(seven, three))
	stands(t, before, moving(), elsewhereError{4, seven})
	stands(t, before, staying(), nil)
	must(t, after.release(seven, three))
	stands(t, after, moving(), errNobody)

	moved, err := before.owned(4, seven)
	must(t, err)
	must(t, after.acquire(seven, moved))
	if e := write(t, after, moving(), "b"); e.Version != 2 {
		t.Errorf("the first write at the new owner has version %d, want 2", e.Version)
	}

	// Slot 0 has not acquired under version 5, and what it released then is not served until it has under version 6.
	must(t, before.release(threeNew, three))
	stands(t, before, moving(), errNobody)
	must(t, after.release(threeNew, three))
	stands(t, after, moving(), elsewhereError{0, threeNew})
	if err := after.acquire(seven, nil); !errors.Is(err, errSuperseded) {
		t.Errorf("a change that was given up is acquired after all: %v", err)
	}
	back, err := after.owned(0, threeNew)
	must(t, err)
	must(t, before.acquire(threeNew, back))
	e, configVersion, err := before.get(moving())
	if err != nil || string(e.Value) != "b" || e.Version != 2 || configVersion != 6 {
		t.Errorf("the key has come back as %q, version %d, under config version %d: %v", e.Value, e.Version, configVersion, err)
	}
}

func TestWhatIsAskedTwice(t *testing.T) {
	s := slotOf(4, three)
	for range 2 {
		must(t, s.release(seven, three))
	}
	old := map[string]entry{moving(): {Value: []byte("a"), Version: 7}}
	must(t, s.acquire(seven, old))
	write(t, s, moving(), "b")
	must(t, s.release(seven, three))
	must(t, s.acquire(seven, map[string]entry{moving(): {Value: []byte("late"), Version: 70}}))
	if e, _, err := s.get(moving()); err != nil || string(e.Value) != "b" || e.Version != 8 {
		t.Errorf("after the second acquire the key is %q, version %d: %v", e.Value, e.Version, err)
	}
	for _, stale := range []shape{three, {ConfigVersion: 5, Scale: 9}} {
		if err := s.release(stale, three); !errors.Is(err, errSuperseded) {
			t.Errorf("releasing to %+v after %+v: %v", stale, seven, err)
		}
	}
}

func TestAcquiringBeforeReleasing(t *testing.T) {
	s := slotOf(0, three)
	if err := s.acquire(seven, nil); !errors.Is(err, errSuperseded) {
		t.Errorf("acquired without a release: %v", err)
	}
	if _, err := s.owned(4, seven); !errors.Is(err, errSuperseded) {
		t.Errorf("exported while it serves: %v", err)
	}
	must(t, s.release(seven, three))
	if _, err := s.owned(4, shape{ConfigVersion: 5, Scale: 8}); !errors.Is(err, errSuperseded) {
		t.Errorf("exported under another scale: %v", err)
	}
}

// TestADeletedKeyStaysDeleted lets the next owner delete a key of which the previous owner keeps a copy, and then gives up the change.
func TestADeletedKeyStaysDeleted(t *testing.T) {
	before, after := slotOf(0, three), slotOf(4, three)
	write(t, before, moving(), "a")
	must(t, before.release(seven, three))
	must(t, after.release(seven, three))
	moved, err := before.owned(4, seven)
	must(t, err)
	must(t, after.acquire(seven, moved))
	_, _, err = after.remove(moving())
	must(t, err)
	if _, _, err := after.remove(moving()); !errors.Is(err, errNoKey) {
		t.Errorf("deleting what is deleted: %v", err)
	}
	must(t, before.release(threeNew, three))
	must(t, after.release(threeNew, three))
	back, err := after.owned(0, threeNew)
	must(t, err)
	must(t, before.acquire(threeNew, back))
	if _, _, err := before.get(moving()); !errors.Is(err, errNoKey) {
		t.Errorf("the key is back: %v", err)
	}
	if e := write(t, before, moving(), "c"); e.Version != 3 {
		t.Errorf("it is written again as version %d, want 3", e.Version)
	}
}

// TestCopiesStayUntilALaterTopologyIsInForce looks at what the one who released a key holds of it.
func TestCopiesStayUntilALaterTopologyIsInForce(t *testing.T) {
	s := slotOf(0, three)
	write(t, s, moving(), "a")
	write(t, s, staying(), "a")
	has := func(when string, under shape, want int) {
		t.Helper()
		if got, err := s.owned(4, under); err != nil || len(got) != want {
			t.Errorf("%s it has %d copies for slot 4, want %d: %v", when, len(got), want, err)
		}
	}
	must(t, s.release(seven, three))
	has("released", seven, 1)
	must(t, s.acquire(seven, nil))
	has("with all acquired", seven, 1)
	abandoned := shape{ConfigVersion: 6, Scale: 8}
	must(t, s.release(abandoned, three)) // version 5 never came into force
	must(t, s.acquire(abandoned, nil))
	if len(s.entries) != 2 {
		t.Errorf("it holds %d keys after a change that was given up, want 2", len(s.entries))
	}
	must(t, s.release(shape{ConfigVersion: 7, Scale: 7}, abandoned)) // version 6 did
	if _, ok := s.entries[staying()]; !ok || len(s.entries) != 1 {
		t.Errorf("it holds %v with a later topology in force, want what it serves alone", s.entries)
	}
}

// TestAnInstanceThatBeginsInTheMiddleOfAChange serves only what both topologies give it.
func TestAnInstanceThatBeginsInTheMiddleOfAChange(t *testing.T) {
	for _, phase := range []string{phaseRelease, phaseAcquire} {
		during := func(ordinal uint32) *store {
			return newStore(topology{shape: three, Ordinal: ordinal, Change: &change{shape: seven, Phase: phase}})
		}
		stands(t, during(0), staying(), nil)
		stands(t, during(0), moving(), elsewhereError{4, seven})
		stands(t, during(4), moving(), errNobody)
		stands(t, during(4), staying(), elsewhereError{0, seven})
	}
}

// TestNoWriteSlipsPastARelease has writers write one key while it is released: each write that was acknowledged is in the
// export that is asked for next.
func TestNoWriteSlipsPastARelease(t *testing.T) {
	for range 50 {
		s := slotOf(0, three)
		var writers sync.WaitGroup
		var mu sync.Mutex
		acknowledged := uint64(0)
		begun := make(chan struct{}, 4)
		for range cap(begun) {
			writers.Go(func() {
				for n := range 100_000 {
					e, _, err := s.put(moving(), []byte("x"))
					if n == 0 {
						begun <- struct{}{}
					}
					if err != nil {
						return
					}
					mu.Lock()
					acknowledged = max(acknowledged, e.Version)
					mu.Unlock()
				}
			})
		}
		for range cap(begun) {
			<-begun
		}
		must(t, s.release(seven, three))
		moved, err := s.owned(4, seven)
		must(t, err)
		writers.Wait()
		if got := moved[moving()].Version; got != acknowledged {
			t.Fatalf("the export has version %d, and %d was acknowledged", got, acknowledged)
		}
	}
}

func TestAFullStore(t *testing.T) {
	s := slotOf(0, shape{ConfigVersion: 1, Scale: 1})
	for n := range maxKeys {
		s.entries[fmt.Sprint(n)] = entry{Version: 1}
	}
	if _, _, err := s.put("another", nil); !errors.Is(err, errFull) {
		t.Errorf("one key too many: %v", err)
	}
	write(t, s, "7", "a key that is there is written all the same")
	must(t, s.release(threeNew, shape{ConfigVersion: 1, Scale: 1}))
	if err := s.acquire(threeNew, map[string]entry{"another": {Version: 1}}); !errors.Is(err, errFull) || s.acquired == threeNew {
		t.Errorf("acquired one key too many, and serves by %+v: %v", s.acquired, err)
	}
}
