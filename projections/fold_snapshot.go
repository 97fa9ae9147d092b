package projections

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/events"
)

// FoldVersion is that of what the fold makes of a log. It climbs when the same log gives another state than before: snapshots of
// others are of no use then.
const FoldVersion = 4

// Errors of a snapshot of the fold. Each has the log be folded from an earlier one, or from its first message.
var (
	// ErrSnapshotVersion occurs when another version of the fold has written the snapshot.
	ErrSnapshotVersion = errors.New("the snapshot is of another version of the fold")
	// ErrSnapshotDamaged occurs when the snapshot is not what was written, or does not give the state that it was taken of.
	ErrSnapshotDamaged = errors.New("the snapshot is damaged")
	// ErrSnapshotOfOther occurs when the log has something else at the snapshot's place than what that was taken of.
	ErrSnapshotOfOther = errors.New("the snapshot is of another log")
)

// foldFormat begins every snapshot of the fold.
const foldFormat = "rookery-fold"

// foldHead is the first line of a snapshot; the state follows it.
type foldHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Log is the identity of the log, Sequence the end of the round that the state is of.
	Log      string `json:"log"`
	Sequence uint64 `json:"sequence"`
	Round    uint64 `json:"round"`
	// Hash is the canonical hash of the state, Sum the SHA-256 of what follows the first line.
	Hash string `json:"hash"`
	Sum  string `json:"sum"`
}

// foldOptions write every field as it is: what there is none of is told from what is empty.
func foldOptions() []json.Options {
	return []json.Options{json.Deterministic(true), json.FormatNilMapAsNull(true), json.FormatNilSliceAsNull(true)}
}

// EncodeFold writes the state after a closed round: one line that says what it is of, and the state. Equal states are written the same.
func EncodeFold(c *Cluster) ([]byte, error) {
	state, err := json.Marshal(c, foldOptions()...)
	if err != nil {
		return nil, fmt.Errorf("write a snapshot of the fold at sequence %d: %w", c.Sequence, err)
	}
	sum := sha256.Sum256(state)
	head, err := json.Marshal(foldHead{
		Format: foldFormat, Version: FoldVersion, Log: c.LogID(), Sequence: c.Sequence, Round: c.Round, Hash: c.Hash(),
		Sum: hex.EncodeToString(sum[:]),
	})
	if err != nil {
		return nil, fmt.Errorf("write a snapshot of the fold at sequence %d: %w", c.Sequence, err)
	}
	return append(append(head, '\n'), state...), nil
}

// DecodeFold reads a snapshot of this log and holds it to what it says of itself: nothing of it is changed, and the state that it gives
// has the hash of the one that it was taken of. Whether the log has that round is for Holds to say.
func DecodeFold(body []byte, log string) (*Cluster, error) {
	line, state, _ := bytes.Cut(body, []byte("\n"))
	var head foldHead
	if err := json.Unmarshal(line, &head); err != nil || head.Format != foldFormat {
		return nil, fmt.Errorf("%w: it does not begin as one", ErrSnapshotDamaged)
	}
	if head.Version != FoldVersion {
		return nil, fmt.Errorf("%w: %d, and this one is %d", ErrSnapshotVersion, head.Version, FoldVersion)
	}
	if head.Log != log {
		return nil, fmt.Errorf("%w: %q", ErrSnapshotOfOther, head.Log)
	}
	if sum := sha256.Sum256(state); hex.EncodeToString(sum[:]) != head.Sum {
		return nil, fmt.Errorf("%w: it was changed since it was written", ErrSnapshotDamaged)
	}
	c := NewCluster()
	if err := json.Unmarshal(state, c, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshotVersion, err)
	}
	if c.Sequence != head.Sequence || c.Round != head.Round || c.Hash() != head.Hash {
		return nil, fmt.Errorf("%w: its state has another hash than the one that it was taken of", ErrSnapshotDamaged)
	}
	c.reindex()
	return c, nil
}

// Continue returns the fold that goes on behind the state of a closed round. The next message is that after it.
func Continue(c *Cluster) *Fold { return &Fold{Cluster: c, last: c.Sequence, chain: c.Chain} }

// Holds returns ErrSnapshotOfOther unless this message, which the log has at the state's sequence, closed the state's round. Its hash
// is over all that the log has before it.
func (c *Cluster) Holds(m events.Message) error {
	r, err := events.ParseRecord(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshotOfOther, err)
	}
	closed, ok := r.Data.(events.RoundClosed)
	if !ok || m.Sequence != c.Sequence || closed.Round != c.Round || closed.Chain.Extend(m) != c.Chain {
		return fmt.Errorf("%w: the message at sequence %d is not the end of round %d", ErrSnapshotOfOther, c.Sequence, c.Round)
	}
	return nil
}
