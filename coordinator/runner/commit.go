package runner

import (
	"bytes"
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

// Seal writes the records and their closing message behind the sequence after. The chain is that of the last round.
func Seal(records []events.Record, closed events.RoundClosed, logID string, after uint64, chain events.Chain) (Round, error) {
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
	return Round{Closed: closed, Messages: append(messages, last), Chain: chain.Extend(last)}, nil
}

// commit appends the round as one atomic batch behind the last one and takes its end into the state. After any error
// the state is of no use.
func (l *leader) commit(turn *coordinator.Turn, t taken) error {
	closed := events.RoundClosed{
		Round: l.cluster.Round + 1, Epoch: l.epoch, Leader: l.Name, Now: turn.Now,
		Commands: l.cursors.commands, Statuses: l.cursors.statuses,
		CommandsKept: max(l.kept, l.cluster.CommandsKept), Policy: policyVersion,
	}
	round, err := Seal(turn.Records, closed, l.cluster.LogID(), l.closed, l.cluster.Chain)
	if err != nil {
		turn.Working = unsealed(turn, l.cluster.LogID())
		return fmt.Errorf("%w: %w", errDecide, err)
	}
	began := time.Now()
	last, err := l.store(round.Messages)
	if err != nil {
		return err
	}
	lasted := time.Since(began)
	l.cluster.Close(last, round.Closed, round.Chain)
	telemetry.Trace(l.ctx, l.Tracer, began.Add(-t.decide), round.Closed, turn.Records)
	telemetry.Log(l.ctx, l.Log, turn.Records)
	l.meters.Round(l.ctx, telemetry.Round{
		Commands: t.inputs.commands, Statuses: t.inputs.statuses, Records: turn.Records, Decide: t.decide, Append: lasted,
	}, l.Now(), l.cluster)
	l.closed, l.settled = last, true
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

// store appends the messages. An outcome that is not known is looked up in the log.
func (l *leader) store(messages []events.Message) (uint64, error) {
	call, cancel := context.WithTimeout(l.ctx, bus.CallTimeout)
	defer cancel()
	last, err := l.Bus.Append(call, bus.Log, l.closed, messages)
	switch {
	case err == nil:
		return last, nil
	case errors.Is(err, bus.ErrPosition) || errors.Is(err, bus.ErrUnknown):
		return l.lookUp(messages, err)
	}
	return 0, err
}

// lookUp reads the log to learn what became of an append: the answer to a batch that was stored may have been lost,
// and sent again by the client's own hand it is refused.
func (l *leader) lookUp(messages []events.Message, cause error) (uint64, error) {
	call, cancel := context.WithTimeout(l.ctx, bus.CallTimeout)
	defer cancel()
	m, ok, err := l.Bus.Last(call, bus.Log)
	if err != nil {
		return 0, errors.Join(cause, err)
	}
	ours := messages[len(messages)-1]
	if ok && m.Sequence == l.closed+uint64(len(messages)) && bytes.Equal(m.Body, ours.Body) {
		return m.Sequence, nil
	}
	if errors.Is(cause, bus.ErrPosition) {
		return 0, fmt.Errorf("%w: %w", errLost, cause)
	}
	return 0, cause
}
