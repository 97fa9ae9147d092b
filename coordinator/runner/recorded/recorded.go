// Package recorded puts the recorded logs of events/golden on buses of their own, for tests.
package recorded

import (
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/events/golden"
	"github.com/rookery-project/rookery/projections"
)

// Log is a log with all kinds of operations, on a bus of its own.
type Log struct {
	*testing.T
	Bus      *memory.Bus
	ID       string
	Messages []events.Message
	// Rounds are the ends of all rounds in order.
	Rounds []uint64

	// fold is at the end of some round, and hash that of its state once it was asked for.
	fold *projections.Fold
	hash string
}

// Each runs a test with each of the logs.
func Each(t *testing.T, each func(*Log)) {
	t.Helper()
	for _, name := range golden.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(Read(t, name))
		})
	}
}

// Read returns the log of this name.
func Read(t *testing.T, name string) *Log {
	t.Helper()
	messages, err := golden.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	l := &Log{T: t, Bus: memory.New(time.Now), Messages: messages, fold: projections.NewFold()}
	for _, m := range messages {
		l.take(m)
		if l.fold.Cluster.Sequence == m.Sequence {
			l.Rounds = append(l.Rounds, m.Sequence)
		}
	}
	l.ID = l.fold.Cluster.LogID()
	l.Bus.Restore(bus.Log, memory.NewBackup(l.ID, l.Messages))
	return l
}

func (l *Log) take(m events.Message) {
	l.Helper()
	if _, err := l.fold.Take(m); err != nil {
		l.Fatal(err)
	}
}

// State returns the state at the end of the round that ends at this place, until the next call. Calls in the order of places are fast.
func (l *Log) State(sequence uint64) *projections.Cluster {
	l.Helper()
	if l.fold.Cluster.Sequence > sequence {
		l.fold = projections.NewFold()
	}
	for _, m := range l.Messages[l.fold.Cluster.Sequence:sequence] {
		l.take(m)
		l.hash = ""
	}
	return l.fold.Cluster
}

// HashAt returns the hash of that state.
func (l *Log) HashAt(sequence uint64) string {
	l.Helper()
	state := l.State(sequence)
	if l.hash == "" {
		l.hash = state.Hash()
	}
	return l.hash
}

// Cut lets the log end at a place.
func (l *Log) Cut(end uint64) {
	l.Messages = l.Messages[:end]
	l.Bus.Restore(bus.Log, memory.NewBackup(l.ID, l.Messages))
}

// ClosedBy returns the end of the last round at or below a place; 0 for none.
func (l *Log) ClosedBy(at uint64) uint64 {
	i, found := slices.BinarySearch(l.Rounds, at)
	switch {
	case found:
		return at
	case i == 0:
		return 0
	}
	return l.Rounds[i-1]
}

// Closing reads the message that closes a round; false for any other.
func Closing(m events.Message) (events.RoundClosed, bool) {
	d, _, err := events.DecodeAs[events.RoundClosed](m)
	return d, err == nil
}
