package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxKeys is how many keys an instance holds at most, with those that it has released and those that were deleted.
const maxKeys = 100_000

var (
	// errNoKey says that this slot owns the key, and that the key does not exist.
	errNoKey = errors.New("there is no such key")
	// errNobody says that no instance serves the key for the moment.
	errNobody = errors.New("no instance serves this key for the moment: ask again")
	// errFull says that there is no room for another key.
	errFull = fmt.Errorf("there are %d keys already", maxKeys)
	// errSuperseded says that the request belongs to another change than the latest that this slot knows.
	errSuperseded = errors.New("the topology has changed")
)

// elsewhereError names the slot that owns a key under the latest shape that is known here. That slot serves the key, or will.
type elsewhereError struct {
	owner uint32
	shape shape
}

func (e elsewhereError) Error() string {
	return fmt.Sprintf("slot %d owns this key under config version %d", e.owner, e.shape.ConfigVersion)
}

// entry is what a slot knows of a key. Its version rises with every write. A deleted key keeps its entry, so that an earlier copy of it
// cannot bring it back.
type entry struct {
	Value   []byte `json:"value,omitempty"`
	Version uint64 `json:"version,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
}

// store holds one slot's keys, and decides which of them it serves. A decision and the read or write that it allows are
// made under one lock: when release returns, no write that it forbids is under way.
type store struct {
	ordinal uint32

	mu      sync.RWMutex
	entries map[string]entry
	// acquired is the shape that this slot serves by, and latest the highest one that it has released keys to.
	acquired, latest shape
	// scales are the scales of acquired and of every shape that this slot has released to since. This slot serves a key while each of them
	// gives it the key. So if Rookery gives up a change, the slot does not serve a released key before it acquires that key again.
	scales []uint32
}

// newStore returns the empty store of an instance that starts. A change under way applies to it as if its hook had been called.
func newStore(t topology) *store {
	s := &store{
		ordinal: t.Ordinal, entries: map[string]entry{},
		acquired: t.shape, latest: t.target(), scales: []uint32{t.Scale},
	}
	if t.Change != nil {
		s.scales = append(s.scales, t.Change.Scale)
	}
	return s
}

// standing returns the reason not to serve the key: nil, errNobody or an elsewhereError. The caller holds the lock.
func (s *store) standing(key string) error {
	if s.serves(key) {
		return nil
	}
	if s.latest.Scale == 0 || owns(s.ordinal, key, s.latest.Scale) {
		return errNobody
	}
	return elsewhereError{owner: owner(key, s.latest.Scale), shape: s.latest}
}

func (s *store) serves(key string) bool {
	for _, scale := range s.scales {
		if !owns(s.ordinal, key, scale) {
			return false
		}
	}
	return true
}

// get returns the key's entry and the config version under which it is served. Its errors are errNoKey and those of standing.
func (s *store) get(key string) (entry, uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.standing(key); err != nil {
		return entry{}, 0, err
	}
	e, ok := s.entries[key]
	if !ok || e.Deleted {
		return entry{}, s.acquired.ConfigVersion, errNoKey
	}
	return e, s.acquired.ConfigVersion, nil
}

// put writes the key. Its errors are errFull and those of standing.
func (s *store) put(key string, value []byte) (entry, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.standing(key); err != nil {
		return entry{}, 0, err
	}
	old, ok := s.entries[key]
	if !ok && len(s.entries) >= maxKeys {
		return entry{}, 0, errFull
	}
	s.entries[key] = entry{Value: value, Version: old.Version + 1}
	return s.entries[key], s.acquired.ConfigVersion, nil
}

// remove deletes the key. Its errors are errNoKey and those of standing.
func (s *store) remove(key string) (entry, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.standing(key); err != nil {
		return entry{}, 0, err
	}
	old, ok := s.entries[key]
	if !ok || old.Deleted {
		return entry{}, s.acquired.ConfigVersion, errNoKey
	}
	s.entries[key] = entry{Version: old.Version + 1, Deleted: true}
	return s.entries[key], s.acquired.ConfigVersion, nil
}

// release stops serving the keys that the shape takes from this slot, and keeps them for exports. Releasing again to the same shape does
// nothing. Its error is errSuperseded.
func (s *store) release(to, inForce shape) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if to == s.latest {
		return nil
	}
	if to.ConfigVersion <= s.latest.ConfigVersion {
		return fmt.Errorf("releasing to config version %d after %d: %w", to.ConfigVersion, s.latest.ConfigVersion, errSuperseded)
	}
	if givenUp := s.acquired != s.latest; !givenUp && s.acquired == inForce {
		s.forget()
	}
	s.latest = to
	if !slices.Contains(s.scales, to.Scale) {
		s.scales = append(s.scales, to.Scale)
	}
	return nil
}

// forget drops the copies of keys that moved before the shape in force, and what is left of deleted keys. Every slot forgets in the same
// release, before any slot asks for exports. So none of these copies meets a younger entry of its key.
func (s *store) forget() {
	for key, e := range s.entries {
		if e.Deleted || !s.serves(key) {
			delete(s.entries, key)
		}
	}
}

// shapes returns the shape that this slot serves by, and the latest that it has released keys to.
func (s *store) shapes() (acquired, latest shape) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.acquired, s.latest
}

// owned returns the entries here, served or not, of the keys that the shape gives to a slot. This slot has released them, so no client can
// write to them. Its error is errSuperseded if this slot has not released to that shape, or has since released to another.
func (s *store) owned(ordinal uint32, under shape) (map[string]entry, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.latest != under {
		return nil, fmt.Errorf("slot %d is at config version %d, scale %d: %w", s.ordinal, s.latest.ConfigVersion, s.latest.Scale, errSuperseded)
	}
	found := map[string]entry{}
	for key, e := range s.entries {
		if owns(ordinal, key, under.Scale) {
			found[key] = e
		}
	}
	return found, nil
}

// acquire serves by the shape from now on, with the entries of the other slots. It keeps the newest version of each key. A shape that is
// acquired is not acquired again, because late entries would be older than writes since. Its errors are errFull and errSuperseded; either
// leaves everything as it was.
func (s *store) acquire(to shape, incoming map[string]entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest != to {
		return fmt.Errorf("acquiring config version %d: %w", to.ConfigVersion, errSuperseded)
	}
	if s.acquired == to {
		return nil
	}
	room := maxKeys - len(s.entries)
	for key := range incoming {
		if _, ok := s.entries[key]; !ok {
			room--
		}
	}
	if room < 0 {
		return fmt.Errorf("acquiring %d keys: %w", len(incoming), errFull)
	}
	for key, e := range incoming {
		if e.Version > s.entries[key].Version && !s.serves(key) {
			s.entries[key] = e
		}
	}
	s.acquired, s.scales = to, []uint32{to.Scale}
	return nil
}
