package snapshots

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// ErrTrimmed occurs when the beginning of the log was trimmed, and there is no snapshot to fold the rest from.
var ErrTrimmed = errors.New("the beginning of the log is not kept")

const (
	// maxFoldSnapshot bounds what is read of one snapshot in bytes.
	maxFoldSnapshot = 1 << 30
	// loadTimeout bounds how long a snapshot may take to be read. The log can be folded without it.
	loadTimeout = time.Minute
)

// Folds begins folds of the log from snapshots.
type Folds struct {
	bus bus.Bus
	log *slog.Logger
	// never says that every fold begins with the first message, or with the first snapshot if the log no longer has that message.
	never bool
	// spoiled takes unusable snapshots for the keeper to remove. If it is full, a later fold finds the snapshot again.
	spoiled chan place
	// roots are the keys that this reader of the log trusts, and signer signs its snapshots; nil for none.
	roots  []events.RoundKey
	signer *events.Signer
}

// NewFolds returns the Folds of the log of a bus, for a coordinator that takes a snapshot every so many messages. It
// trusts the signers' keys, and signs with the first.
func NewFolds(b bus.Bus, log *slog.Logger, every uint64, signers []*events.Signer) Folds {
	f := Folds{bus: b, log: log, never: every == None, spoiled: make(chan place, keptFolds)}
	for _, s := range signers {
		f.roots = append(f.roots, s.Key())
	}
	if len(signers) > 0 {
		f.signer = signers[0]
	}
	return f
}

// foldName is the name of the snapshot of a log at the end of a round. The names sort in the order of the log.
func foldName(logID string, sequence uint64) string {
	return fmt.Sprintf("%s%020d", foldPrefix(logID), sequence)
}

func foldPrefix(logID string) string {
	return "fold/" + logID + "/v" + strconv.Itoa(projections.FoldVersion) + "/"
}

// foldSequence returns the place in the log of the snapshot with this name; false for a snapshot of another log or version.
func foldSequence(logID, name string) (uint64, bool) {
	digits, ours := strings.CutPrefix(name, foldPrefix(logID))
	sequence, err := strconv.ParseUint(digits, 10, 64)
	return sequence, ours && err == nil
}

// list returns the places in the log that have snapshots, the last one first.
func (f Folds) list(ctx context.Context, logID string) ([]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	objects, err := f.bus.Objects(bus.ObjectsFolds).All(ctx)
	if err != nil {
		return nil, err
	}
	var sequences []uint64
	for _, o := range objects {
		if sequence, ours := foldSequence(logID, o.Name); ours {
			sequences = append(sequences, sequence)
		}
	}
	slices.Sort(sequences)
	slices.Reverse(sequences)
	return sequences, nil
}

// Begin returns a fold that has not passed the place in the log, and a reader of what to take next. The fold comes from the nearest
// snapshot of this log at or below the place, or is empty. A snapshot that cannot be used is logged, and costs only time. But a trimmed log
// has no other fold: without a usable snapshot the error is ErrTrimmed.
func (f Folds) Begin(ctx context.Context, at uint64) (*projections.Fold, bus.Reader, error) {
	state, err := f.state(ctx)
	if err != nil {
		return nil, nil, err
	}
	trimmed := state.First > 1
	if !f.never || trimmed {
		fold, reader, err := f.fromSnapshot(ctx, state, at)
		if fold != nil || (trimmed && err != nil) {
			return fold, reader, err
		}
	}
	if trimmed {
		return nil, nil, fmt.Errorf("%w: it begins at sequence %d, and no snapshot of the fold from there to %d can be used: run `rookery archive`"+
			" with the folder of its archive, which puts one back", ErrTrimmed, state.First, min(at, state.Last))
	}
	reader, err := f.bus.Read(ctx, bus.Log, 1)
	if err != nil {
		return nil, nil, err
	}
	return f.trusting(projections.NewFold()), reader, nil
}

func (f Folds) trusting(fold *projections.Fold) *projections.Fold {
	fold.Roots = f.roots
	return fold
}

// fromSnapshot returns a fold from a snapshot that the log holds, or nil if none can be used. The error says why it could not find out.
func (f Folds) fromSnapshot(ctx context.Context, state bus.State, at uint64) (*projections.Fold, bus.Reader, error) {
	sequences, err := f.list(ctx, state.Identity)
	if err != nil {
		f.log.Warn("snapshots of the fold cannot be listed", "error", err)
		return nil, nil, err
	}
	if f.never {
		slices.Reverse(sequences)
	}
	var unknown error
	for _, sequence := range sequences {
		if sequence < state.First || sequence > min(at, state.Last) {
			continue
		}
		fold, reader, err := f.load(ctx, state.Identity, sequence)
		if err == nil {
			f.log.Debug("folding the log from a snapshot", "sequence", sequence)
			return fold, reader, nil
		}
		f.log.Warn("skipping a snapshot of the fold", "sequence", sequence, "error", err, "advice", "none needed: an earlier one is taken")
		if useless(err) {
			f.tell(place{state.Identity, sequence})
		} else {
			unknown = err
		}
	}
	return nil, nil, unknown
}

func (f Folds) tell(spoiled place) {
	select {
	case f.spoiled <- spoiled:
	default:
	}
}

// useless reports whether an error of load says that the snapshot will never be usable.
func useless(err error) bool {
	for _, target := range []error{projections.ErrSnapshotDamaged, projections.ErrSnapshotOfOther, projections.ErrSnapshotVersion, bus.ErrNoKey} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// load reads the snapshot, and checks it against the log.
func (f Folds) load(ctx context.Context, logID string, sequence uint64) (*projections.Fold, bus.Reader, error) {
	cluster, err := f.read(ctx, logID, sequence)
	if err != nil {
		return nil, nil, err
	}
	if cluster.Sequence != sequence {
		return nil, nil, fmt.Errorf("%w: it is of sequence %d, under the name of %d", projections.ErrSnapshotOfOther, cluster.Sequence, sequence)
	}
	reader, err := f.bus.Read(ctx, bus.Log, cluster.Sequence)
	if err != nil {
		return nil, nil, err
	}
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	m, err := Next(call, reader)
	if err == nil {
		err = cluster.Holds(m)
	}
	if err != nil {
		reader.Stop()
		return nil, nil, err
	}
	return f.trusting(projections.Continue(cluster)), reader, nil
}

// read returns the state of a snapshot. Only the bytes may take long: if the bus cannot be reached, read fails soon.
func (f Folds) read(ctx context.Context, logID string, sequence uint64) (*projections.Cluster, error) {
	objects, name := f.bus.Objects(bus.ObjectsFolds), foldName(logID, sequence)
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	if _, err := objects.Stat(call, name); err != nil { // Get would not report a snapshot that lacks parts
		return nil, err
	}
	loading, stop := context.WithTimeout(ctx, loadTimeout)
	defer stop()
	content, err := objects.Get(loading, name)
	if err != nil {
		return nil, err
	}
	cluster, err := projections.DecodeFold(io.LimitReader(content, maxFoldSnapshot), logID, f.roots)
	return cluster, errors.Join(err, content.Close())
}

func (f Folds) state(ctx context.Context) (bus.State, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	return f.bus.State(ctx, bus.Log)
}

// LastRound returns the records of the round that ends at the place in the log, the closing message last.
func LastRound(ctx context.Context, b bus.Bus, end uint64) ([]events.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	reader, err := b.Read(ctx, bus.Log, max(end, bus.MaxBatch)-bus.MaxBatch+1)
	if err != nil {
		return nil, err
	}
	defer reader.Stop()
	var round []events.Record
	for {
		m, err := Next(ctx, reader)
		if err != nil {
			return nil, err
		}
		r, err := events.ParseRecord(m)
		_, void := r.Data.(events.RoundVoid)
		if void { // the voided messages are not part of any round
			round = nil
		}
		if err == nil { // otherwise it is void, or will be
			round = append(round, r)
		}
		if m.Sequence >= end {
			return round, nil
		}
		if _, closed := r.Data.(events.RoundClosed); closed || void {
			round = nil
		}
	}
}

// Next returns the reader's next message.
func Next(ctx context.Context, reader bus.Reader) (events.Message, error) {
	select {
	case m, ok := <-reader.Messages():
		if !ok {
			return m, bus.ErrReader
		}
		return m, nil
	case <-ctx.Done():
		return events.Message{}, fmt.Errorf("%w: nothing comes: %w", bus.ErrReader, ctx.Err())
	}
}

// To folds on until it has taken the message at the place in the log. It leaves the fold at the last round closed by then.
func To(ctx context.Context, fold *projections.Fold, reader bus.Reader, at uint64) error {
	for fold.Last() < at {
		m, err := Next(ctx, reader)
		if err != nil {
			return err
		}
		if _, err := fold.Take(m); err != nil {
			return err
		}
	}
	return nil
}
