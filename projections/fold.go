package projections

import (
	"errors"
	"fmt"
	"slices"

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
	// Roots are the keys that the reader of the log trusts. A round that changes the key and is not signed with the one before counts if only the
	// new key is a root: the log was restored with new keys. A reader without roots takes every such round.
	Roots []events.RoundKey
	// Stored says that the messages were stored before. Then only signatures that change the key and, in Verify, the last one are verified: a
	// coordinator verifies each round before it signs the next one, and signs the hash over all of them. After an error, also one of Verify,
	// fold again without Stored: the error may come of rounds that others have written.
	Stored bool

	last  uint64
	chain events.Chain
	// open is the sequence of the first open message; 0 for none. held are the open messages that the fold can read, and strange is the
	// error of the first one that it cannot read.
	open    uint64
	held    []events.Record
	strange error
	// next is the last change of the key among the open messages; nil for none.
	next *events.ClusterSigned
	// unverified is the last message that closed a round without its signature being verified; nil for none.
	unverified *events.Message
}

// NewFold returns the fold of an empty log.
func NewFold() *Fold { return &Fold{Cluster: NewCluster()} }

// Last returns the sequence of the last message that the fold has taken, in a closed round or open.
func (f *Fold) Last() uint64 { return f.last }

// Open returns the first and last sequence of the messages after the last closed round, or false where there are none.
func (f *Fold) Open() (from, to uint64, open bool) { return f.open, f.last, f.open != 0 }

// Ends reports whether the open message at the sequence says that it closes a round. The log demands a signature that it does not have.
func (f *Fold) Ends(sequence uint64) bool {
	return slices.ContainsFunc(f.held, func(r events.Record) bool {
		_, closed := r.Data.(events.RoundClosed)
		return closed && r.Sequence == sequence
	})
}

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
	after := f.chain.Extend(m)
	switch d := r.Data.(type) {
	case events.RoundClosed:
		switch {
		case f.signed(m, d, after):
			return f.close(m, r, d, after)
		case f.misses(m, d):
			return nil, fmt.Errorf("log sequence %d: %w: round %d is signed, and what is before it is not what it was signed over", m.Sequence, ErrChain, d.Round)
		}
	case events.RoundVoid:
		if after := f.Cluster.Chain.Extend(m); f.voids(d) && (f.Cluster.Key == "" || f.Cluster.Key.Signed(m, after)) {
			return f.void(m, r, d, after), nil
		}
	case events.ClusterSigned:
		f.next = &d
	}
	if f.open == 0 {
		f.open = m.Sequence
	}
	f.chain = after
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

// signed reports whether the message that closes the round is signed as the log demands, where it does. The key that signs the first such round is
// in it.
func (f *Fold) signed(m events.Message, closed events.RoundClosed, after events.Chain) bool {
	key := f.Cluster.Key
	if f.next == nil {
		return key == "" || f.attested(m, closed) || key.Signed(m, after)
	}
	next := f.next.Key
	if key == "" {
		return next == "" || next.Signed(m, after)
	}
	return key.Signed(m, after) || (f.restores(key, next) && next.Signed(m, after))
}

// restores reports whether the reader of the log trusts this key in place of the one before, which it does not know.
func (f *Fold) restores(before, next events.RoundKey) bool {
	return len(f.Roots) == 0 || (slices.Contains(f.Roots, next) && !slices.Contains(f.Roots, before))
}

// attested reports whether a later signature may stand for that of the message, which closes the next round.
func (f *Fold) attested(m events.Message, closed events.RoundClosed) bool {
	if !f.Stored || closed.Chain != f.chain || closed.Round != f.Cluster.Round+1 {
		return false
	}
	f.unverified = &m
	return true
}

// Verify verifies the signature of the last round, where Stored has left that out.
func (f *Fold) Verify() error {
	m := f.unverified
	f.unverified = nil
	if m == nil || m.Sequence != f.Cluster.Sequence || f.Cluster.Key.Signed(*m, f.Cluster.Chain) {
		return nil
	}
	return fmt.Errorf("log sequence %d: %w: it closes a round without the signature of a coordinator", m.Sequence, ErrChain)
}

// misses reports whether a coordinator has signed the end of a round that the fold does not have: what is open is then damaged, and not what others
// have written. A client that may write into the log, and has heard an end that was not stored, can make that error too: it stops readers.
func (f *Fold) misses(m events.Message, closed events.RoundClosed) bool {
	after := closed.Chain.Extend(m)
	return closed.Round > f.Cluster.Round && slices.ContainsFunc(append(f.Roots[:len(f.Roots):len(f.Roots)], f.Cluster.Key), func(key events.RoundKey) bool { return key.Signed(m, after) })
}

func (f *Fold) close(m events.Message, r events.Record, closed events.RoundClosed, after events.Chain) ([]events.Record, error) {
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
	f.chain = after
	f.Cluster.Close(m.Sequence, closed, after)
	records := f.held
	f.open, f.held, f.next = 0, nil, nil
	return append(records, r), nil
}

// voids reports whether the void names exactly the open messages. A coordinator writes no other void: any other is an open message itself.
func (f *Fold) voids(void events.RoundVoid) bool {
	return f.open != 0 && void.From == f.open && void.To == f.last-1 && void.Epoch == f.Cluster.Epoch+1
}

// void drops the open messages. The hash chain continues from the last closed round, over the void itself.
func (f *Fold) void(m events.Message, r events.Record, void events.RoundVoid, after events.Chain) []events.Record {
	f.open, f.held, f.strange, f.next = 0, nil, nil, nil
	f.chain = after
	f.Cluster.void(m.Sequence, void, after)
	return []events.Record{r}
}

func (c *Cluster) void(sequence uint64, void events.RoundVoid, chain events.Chain) {
	c.Epoch, c.Leader = void.Epoch, void.Leader
	c.Sequence, c.Chain = sequence, chain
}
