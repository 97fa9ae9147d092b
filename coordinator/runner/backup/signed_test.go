package backup

import (
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// signedLog is a log that a test writes, with rounds of one event each.
type signedLog struct {
	*testing.T
	id       string
	messages []events.Message
	chain    events.Chain
	round    uint64
}

func (l *signedLog) add(scope events.Scope, data events.Data) events.Message {
	l.Helper()
	m, err := events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: uint64(len(l.messages)) + 1, Time: at}.Message(l.id)
	if err != nil {
		l.Fatal(err)
	}
	m.Sequence = uint64(len(l.messages)) + 1
	l.chain = l.chain.Extend(m)
	l.messages = append(l.messages, m)
	return m
}

// rounds closes so many rounds, which the signer signs. The events are in the first.
func (l *signedLog) rounds(count int, by *events.Signer, data ...events.Data) {
	l.Helper()
	for range count {
		for _, d := range data {
			l.add(events.ClusterScope, d)
		}
		l.round++
		end := l.add(events.RoundScope, events.RoundClosed{Round: l.round, Epoch: 1, Leader: "a", Now: at, Chain: l.chain})
		by.Sign(end, l.chain)
		data = nil
	}
}

// TestABackupGoesOnBehindAnotherKey backs a log up, changes the key of rounds, and lets the log grow by more than a backup looks back.
func TestABackupGoesOnBehindAnotherKey(t *testing.T) {
	first, second := events.SignerOf([32]byte{1}), events.SignerOf([32]byte{2})
	l := &signedLog{T: t, id: "signed"}
	l.rounds(10, first, events.ClusterAdopted{Accounts: true, Streams: map[string]string{string(bus.Log): l.id}}, events.ClusterSigned{Key: first.Key()})
	b, s := connect(t), folder(t)
	begins(t, b, l.id, l.messages)
	take(t, b, s, 0)
	written := len(l.messages)
	l.rounds(1, first, events.ClusterSigned{Key: second.Key()})
	l.rounds(lookBack+10, second)
	writes(t, b, uint64(written), l.messages[written:])
	m := take(t, b, s, 1)
	if state := verify(t, s, m); state.Sequence != uint64(len(l.messages)) || state.Key != second.Key() {
		t.Errorf("the backup ends at %d, and the log at %d", state.Sequence, len(l.messages))
	}

	written = len(l.messages)
	l.rounds(1, first)
	writes(t, b, uint64(written), l.messages[written:])
	if m, err := Take(t.Context(), source(b, 2), s); err == nil || !strings.Contains(err.Error(), "no coordinator has signed") {
		t.Errorf("a backup of a log that ends with a round of others ends at %d: %v", m.Sequence, err)
	}
}
