package projections

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/events"
)

// FoldVersion is the version of the fold. It must be raised when the same log gives another state than before: a coordinator does not
// use snapshots of other versions.
const FoldVersion = 5

// Errors of a snapshot of the fold. After each of them the coordinator folds the log from an earlier snapshot, or from its first message.
var (
	// ErrSnapshotVersion occurs when another version of the fold has written the snapshot.
	ErrSnapshotVersion = errors.New("the snapshot was written by another version of the fold")
	// ErrSnapshotDamaged occurs when the snapshot differs from what was written, or does not give the state from which it was taken.
	ErrSnapshotDamaged = errors.New("the snapshot is damaged")
	// ErrSnapshotOfOther occurs when the log has another message at the snapshot's sequence than the one from which it was taken.
	ErrSnapshotOfOther = errors.New("the snapshot belongs to another log")
)

// foldFormat begins every snapshot of the fold.
const foldFormat = "rookery-fold"

// foldHead is the first line of a snapshot; the state follows it.
type foldHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Log is the identity of the log. Sequence is the end of the round after which the snapshot was taken.
	Log      string `json:"log"`
	Sequence uint64 `json:"sequence"`
	Round    uint64 `json:"round"`
	// Hash is the canonical hash of the state. Sum is the SHA-256 of what follows the first line.
	Hash string `json:"hash"`
	Sum  string `json:"sum"`
	// Signature is that of a coordinator, where rounds are signed.
	Signature string `json:"signature,omitempty"`
}

// state is what the signature is of.
func (h foldHead) state() string {
	return fmt.Sprintf("%d %s %d %s", h.Version, h.Log, h.Sequence, h.Hash)
}

// foldOptions write every field as it is, so that a reader can tell nil from empty.
func foldOptions() []json.Options {
	return []json.Options{json.Deterministic(true), json.FormatNilMapAsNull(true), json.FormatNilSliceAsNull(true)}
}

// FoldSnapshot is the state after a closed round as it is kept: one line that identifies it, and the state. Equal states give equal bytes.
// It holds no copy of the bytes, which take about as much as the state. So the state is encoded twice, and must not change in between.
type FoldSnapshot struct {
	state *Cluster
	head  []byte
	size  int64
}

// SnapshotOf returns the snapshot of the state, which the signer signs; nil for none.
func SnapshotOf(c *Cluster, signer *events.Signer) (FoldSnapshot, error) {
	s := FoldSnapshot{state: c}
	sum, size := sha256.New(), counter(0)
	if err := s.encode(io.MultiWriter(sum, &size)); err != nil {
		return s, err
	}
	h := foldHead{
		Format: foldFormat, Version: FoldVersion, Log: c.LogID(), Sequence: c.Sequence, Round: c.Round, Hash: c.Hash(),
		Sum: hex.EncodeToString(sum.Sum(nil)),
	}
	h.Signature = signer.SignState(h.state())
	head, err := json.Marshal(h)
	s.head, s.size = head, int64(len(head)+1)+int64(size)
	return s, err
}

// Size returns how many bytes the snapshot has.
func (s FoldSnapshot) Size() int64 { return s.size }

// Write writes the snapshot.
func (s FoldSnapshot) Write(to io.Writer) error {
	if _, err := fmt.Fprintf(to, "%s\n", s.head); err != nil {
		return err
	}
	return s.encode(to)
}

func (s FoldSnapshot) encode(to io.Writer) error {
	if err := json.MarshalWrite(to, s.state, foldOptions()...); err != nil {
		return fmt.Errorf("write a snapshot of the fold at sequence %d: %w", s.state.Sequence, err)
	}
	return nil
}

// counter counts what is written to it.
type counter int

// Write implements io.Writer.
func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// source remembers the error of a reader, which a decoder reports as one of what it decodes.
type source struct {
	io.Reader
	err error
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// DecodeFold reads a snapshot of this log and checks it against its first line: its bytes are unchanged, and its state has the hash of the
// state from which it was taken. If rounds of the log are signed, one of the roots must have signed the snapshot, too, where there are any. Holds checks
// whether the log has the snapshot's round.
func DecodeFold(from io.Reader, log string, roots []events.RoundKey) (*Cluster, error) {
	input := &source{Reader: from}
	lines := bufio.NewReader(input)
	line, err := lines.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var head foldHead
	if err := json.Unmarshal(line, &head); err != nil || head.Format != foldFormat {
		return nil, fmt.Errorf("%w: its first line is not that of a snapshot of the fold", ErrSnapshotDamaged)
	}
	if head.Version != FoldVersion {
		return nil, fmt.Errorf("%w: it has version %d, and this process needs version %d", ErrSnapshotVersion, head.Version, FoldVersion)
	}
	if head.Log != log {
		return nil, fmt.Errorf("%w: %q", ErrSnapshotOfOther, head.Log)
	}
	sum := sha256.New()
	state := io.TeeReader(lines, sum)
	c := NewCluster()
	malformed := json.UnmarshalRead(state, c, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false))
	if _, err := io.Copy(io.Discard, state); err != nil || input.err != nil { // what is left of a malformed state
		return nil, cmp.Or(input.err, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != head.Sum {
		return nil, fmt.Errorf("%w: it was changed since it was written", ErrSnapshotDamaged)
	}
	if malformed != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshotVersion, malformed)
	}
	if c.Sequence != head.Sequence || c.Round != head.Round || c.Hash() != head.Hash {
		return nil, fmt.Errorf("%w: its state does not have the hash that its first line names", ErrSnapshotDamaged)
	}
	signed := func(root events.RoundKey) bool { return root.SignedState(head.state(), head.Signature) }
	if c.Key != "" && len(roots) > 0 && !slices.ContainsFunc(roots, signed) {
		return nil, fmt.Errorf("%w: no coordinator whose key is known here has signed it", ErrSnapshotDamaged)
	}
	c.reindex()
	return c, nil
}

// Continue returns a fold that continues from the state of a closed round. It takes the message after that round next.
func Continue(c *Cluster) *Fold { return &Fold{Cluster: c, last: c.Sequence, chain: c.Chain} }

// Holds returns ErrSnapshotOfOther unless this message, which the log has at the state's sequence, closed the state's round. The hash in
// the message covers the whole log before it.
func (c *Cluster) Holds(m events.Message) error {
	r, err := events.ParseRecord(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSnapshotOfOther, err)
	}
	closed, ok := r.Data.(events.RoundClosed)
	if events.HasSignature(m) != (c.Key != "") || (c.Key != "" && !c.Key.Signed(m, c.Chain)) {
		return fmt.Errorf("%w: the message at sequence %d is not signed as in the state", ErrSnapshotOfOther, m.Sequence)
	}
	if !ok || m.Sequence != c.Sequence || closed.Round != c.Round || closed.Chain.Extend(m) != c.Chain {
		return fmt.Errorf("%w: the message at sequence %d is not the end of round %d", ErrSnapshotOfOther, c.Sequence, c.Round)
	}
	return nil
}
