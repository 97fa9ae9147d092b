package projections

import (
	"errors"
	"fmt"

	"github.com/rookery-project/rookery/events"
)

// Errors of a fold. Each is wrapped with the sequence at which it occurred; the fold takes nothing more.
var (
	// ErrGap occurs when a message does not follow the one before: something was lost from the log.
	ErrGap = errors.New("gap in the log")
	// ErrChain occurs when a round's hash does not fit its events: something in the log was changed.
	ErrChain = errors.New("broken hash chain in the log")
	// ErrUnknown occurs when an event is of a type that this version does not know.
	ErrUnknown = errors.New("unknown event in the log")
	// ErrTorn occurs when a round.void does not name exactly the open messages before it.
	ErrTorn = errors.New("torn round in the log")
)

// Fold turns the messages of the log into the state, whole rounds only.
type Fold struct {
	// Cluster is the state after the last whole round.
	Cluster *Cluster

	last  uint64
	chain events.Chain
	held  []events.Record
}

// NewFold returns the fold of an empty log.
func NewFold() *Fold { return &Fold{Cluster: NewCluster()} }

// Last returns the sequence of the last message that was taken, closed or not.
func (f *Fold) Last() uint64 { return f.last }

// Torn returns the first and last sequence of the messages behind the last closed round, or false where there are none.
func (f *Fold) Torn() (from, to uint64, torn bool) {
	if len(f.held) == 0 {
		return 0, 0, false
	}
	return f.held[0].Sequence, f.last, true
}

// Take takes the next message of the log and returns the records of the round that it closes: with the events in
// order and the closing message last, or nil where the round is still open.
func (f *Fold) Take(m events.Message) ([]events.Record, error) {
	if m.Sequence != f.last+1 {
		return nil, fmt.Errorf("log sequence %d: %w: the message before it has sequence %d", m.Sequence, ErrGap, f.last)
	}
	r, err := events.ParseRecord(m)
	if err != nil {
		if errors.Is(err, events.ErrUnknownType) {
			err = fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		return nil, err
	}
	f.last = m.Sequence
	switch d := r.Data.(type) {
	case events.RoundClosed:
		return f.close(m, r, d)
	case events.RoundVoid:
		return f.void(m, r, d)
	}
	f.chain = f.chain.Extend(m)
	f.held = append(f.held, r)
	return nil, nil
}

func (f *Fold) close(m events.Message, r events.Record, closed events.RoundClosed) ([]events.Record, error) {
	if closed.Chain != f.chain || closed.Round != f.Cluster.Round+1 {
		return nil, fmt.Errorf("log sequence %d: %w: round %d after round %d", m.Sequence, ErrChain, closed.Round, f.Cluster.Round)
	}
	for _, held := range f.held {
		if err := f.Cluster.Apply(held); err != nil {
			return nil, err
		}
	}
	f.chain = f.chain.Extend(m)
	f.Cluster.Close(m.Sequence, closed, f.chain)
	records := f.held
	f.held = nil
	return append(records, r), nil
}

// void forgets the open messages. The chain goes on from the last closed round, over the void itself.
func (f *Fold) void(m events.Message, r events.Record, void events.RoundVoid) ([]events.Record, error) {
	from, _, torn := f.Torn()
	if !torn || void.From != from || void.To != m.Sequence-1 {
		return nil, fmt.Errorf("log sequence %d: %w: it voids %d to %d, open are those from %d", m.Sequence, ErrTorn, void.From, void.To, from)
	}
	f.held = nil
	f.chain = f.Cluster.Chain.Extend(m)
	f.Cluster.void(m.Sequence, void, f.chain)
	return []events.Record{r}, nil
}

func (c *Cluster) void(sequence uint64, void events.RoundVoid, chain events.Chain) {
	c.Epoch, c.Leader = void.Epoch, void.Leader
	c.Sequence, c.Chain = sequence, chain
}
