package projections

import (
	"errors"
	"fmt"

	"github.com/rookery-project/rookery/events"
)

// Errors of a fold. Each is wrapped with the sequence at which it occurred. The fold takes no further message after one.
var (
	// ErrGap occurs when a message does not follow the previous one: the log has lost messages.
	ErrGap = errors.New("gap in the log")
	// ErrChain occurs when a round's hash does not match its events: a message in the log was changed.
	ErrChain = errors.New("broken hash chain in the log")
	// ErrUnknown occurs when an event is of a type that this version does not know.
	ErrUnknown = errors.New("unknown event in the log")
)

// Damaged reports whether an error of a fold says that the log, or the copy of it that was read, is not what was written.
func Damaged(err error) bool {
	return errors.Is(err, ErrGap) || errors.Is(err, ErrChain) || errors.Is(err, events.ErrMalformed)
}

// Fold turns the messages of the log into the state, one whole round at a time. Messages after the last closed round are open: they
// may be the start of a round, or anything that a client has published there. Open messages have no effect until a round closes over
// them.
type Fold struct {
	// Cluster is the state after the last whole round.
	Cluster *Cluster

	last  uint64
	chain events.Chain
	// open is the sequence of the first open message; 0 for none. held are the open messages that the fold can read, and strange is the
	// error of the first one that it cannot read.
	open    uint64
	held    []events.Record
	strange error
}

// NewFold returns the fold of an empty log.
func NewFold() *Fold { return &Fold{Cluster: NewCluster()} }

// Last returns the sequence of the last message that the fold has taken, in a closed round or open.
func (f *Fold) Last() uint64 { return f.last }

// Open returns the first and last sequence of the messages after the last closed round, or false where there are none.
func (f *Fold) Open() (from, to uint64, open bool) { return f.open, f.last, f.open != 0 }

// Take takes the next message of the log. It returns the records of the round that the message closes, the events in order and
// the closing message last. It returns nil while the round is still open.
func (f *Fold) Take(m events.Message) ([]events.Record, error) {
	if m.Sequence != f.last+1 {
		return nil, fmt.Errorf("log sequence %d: %w: the message before it has sequence %d", m.Sequence, ErrGap, f.last)
	}
	f.last = m.Sequence
	r, err := events.ParseRecord(m)
	if err != nil && f.strange == nil {
		f.strange = unreadable(err)
	}
	switch d := r.Data.(type) {
	case events.RoundClosed:
		return f.close(m, r, d)
	case events.RoundVoid:
		if f.voids(d) {
			return f.void(m, r, d), nil
		}
	}
	if f.open == 0 {
		f.open = m.Sequence
	}
	f.chain = f.chain.Extend(m)
	if err == nil {
		f.held = append(f.held, r)
	}
	return nil, nil
}

// unreadable returns the error of a round with a message that the fold cannot read.
func unreadable(err error) error {
	if errors.Is(err, events.ErrUnknownType) {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

func (f *Fold) close(m events.Message, r events.Record, closed events.RoundClosed) ([]events.Record, error) {
	if f.strange != nil {
		return nil, f.strange
	}
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
	f.open, f.held = 0, nil
	return append(records, r), nil
}

// voids reports whether the void names exactly the open messages. A coordinator writes no other void: any other is an open message itself.
func (f *Fold) voids(void events.RoundVoid) bool {
	return f.open != 0 && void.From == f.open && void.To == f.last-1 && void.Epoch == f.Cluster.Epoch+1
}

// void drops the open messages. The hash chain continues from the last closed round, over the void itself.
func (f *Fold) void(m events.Message, r events.Record, void events.RoundVoid) []events.Record {
	f.open, f.held, f.strange = 0, nil, nil
	f.chain = f.Cluster.Chain.Extend(m)
	f.Cluster.void(m.Sequence, void, f.chain)
	return []events.Record{r}
}

func (c *Cluster) void(sequence uint64, void events.RoundVoid, chain events.Chain) {
	c.Epoch, c.Leader = void.Epoch, void.Leader
	c.Sequence, c.Chain = sequence, chain
}
