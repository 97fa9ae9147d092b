package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/telemetry"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// policyVersion is that of the built-in scheduling policy.
const policyVersion = 1

// Round is a decided round, ready to be stored.
type Round struct {
	Closed   events.RoundClosed
	Messages []events.Message // the events and, last, the closing message
	Chain    events.Chain     // after the closing message
}

// Seal writes the records and their closing message behind the sequence after, and signs that. The chain is that of the last round.
func Seal(records []events.Record, closed events.RoundClosed, logID string, after uint64, chain events.Chain, signer *events.Signer) (Round, error) {
	messages := make([]events.Message, 0, len(records)+1)
	for _, r := range records {
		m, err := r.Message(logID)
		if err != nil {
			return Round{}, err
		}
		chain = chain.Extend(m)
		messages = append(messages, m)
	}
	closed.Chain = chain
	last, err := events.Record{
		Event:    events.Event{Scope: events.RoundScope, Data: closed},
		Sequence: after + uint64(len(records)) + 1,
		Time:     closed.Now,
	}.Message(logID)
	if err != nil {
		return Round{}, err
	}
	chain = chain.Extend(last)
	signer.Sign(last, chain)
	return Round{Closed: closed, Messages: append(messages, last), Chain: chain}, nil
}

// commit appends the round as one atomic batch behind the last one and takes its end into the state. After any error
// the state is of no use.
func (l *leader) commit(turn *coordinator.Turn, t taken) error {
	closed := events.RoundClosed{
		Round: l.cluster.Round + 1, Epoch: l.epoch, Leader: l.Name, Now: turn.Now,
		Commands: l.cursors.commands, Statuses: l.cursors.statuses,
		CommandsKept: max(l.kept, l.cluster.CommandsKept), Policy: policyVersion,
	}
	round, err := Seal(turn.Records, closed, l.cluster.LogID(), l.closed, l.cluster.Chain, l.Signers.signs(cmp.Or(l.key, l.cluster.Key)))
	if err != nil {
		turn.Working = unsealed(turn, l.cluster.LogID())
		return fmt.Errorf("%w: %w", errDecide, err)
	}
	began := time.Now()
	last, err := l.append(bus.Log, l.closed, round.Messages)
	if err != nil {
		return err
	}
	lasted := time.Since(began)
	l.cluster.Close(last, round.Closed, round.Chain)
	l.key = l.cluster.Key
	telemetry.Trace(l.ctx, l.Tracer, began.Add(-t.decide), round.Closed, turn.Records)
	telemetry.Log(l.ctx, l.Log, turn.Records)
	l.meters.Round(l.ctx, telemetry.Round{
		Commands: t.inputs.commands, Statuses: t.inputs.statuses, Records: turn.Records, Decide: t.decide, Append: lasted,
	}, l.Now(), l.cluster)
	l.closed, l.settled, l.heard = last, true, time.Now()
	l.keeper.Note(last, l.cluster.LogID())
	return nil
}

// unsealed returns the unit of the first record that cannot be written.
func unsealed(turn *coordinator.Turn, logID string) events.Unit {
	for i, r := range turn.Records {
		if _, err := r.Message(logID); err != nil {
			return turn.UnitOf(i)
		}
	}
	return events.Unit{}
}

// append appends the messages, of which the last one names its leader, behind the sequence. It tries again where it does not learn what
// became of that: the server stores messages behind one sequence once at most. If another coordinator has written there, append returns errLost.
func (l *leader) append(stream bus.Stream, after uint64, messages []events.Message) (last uint64, err error) {
	err = l.patiently(l.ctx, func(ctx context.Context) error {
		if err := l.alive(); err != nil {
			return err
		}
		last, err = l.Bus.Append(ctx, stream, after, messages)
		if errors.Is(err, bus.ErrPosition) || errors.Is(err, bus.ErrUnknown) {
			last, err = l.lookUp(stream, after, messages, err)
		}
		return err
	})
	return last, err
}

// lookUp reads the last message of the stream to learn what became of an append: the answer to one that was stored may have been lost, and
// sent again it is refused.
func (l *leader) lookUp(stream bus.Stream, after uint64, messages []events.Message, cause error) (uint64, error) {
	call, cancel := context.WithTimeout(l.ctx, tryFor)
	defer cancel()
	m, ok, err := l.Bus.Last(call, stream)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: %w: %w", bus.ErrUnknown, cause, err)
	case ok && m.Sequence == after+uint64(len(messages)) && equal(m, messages[len(messages)-1]):
		return m.Sequence, nil
	case m.Sequence <= after: // the server that answers lags behind, or the one that refused has taken what is not stored yet
		return 0, fmt.Errorf("%w: %w", bus.ErrUnknown, cause)
	}
	return 0, fmt.Errorf("%w: it has written to %s: %w", errLost, stream, cause)
}

// equal reports whether both are one message of one leader.
func equal(a, b events.Message) bool {
	return a.Subject == b.Subject && a.Header.Get(headerLeader) == b.Header.Get(headerLeader) && bytes.Equal(a.Body, b.Body)
}
