package snapshots

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const (
	// DefaultEvery is how many messages of the log lie between two snapshots of the fold. Folding that many takes less than a second.
	DefaultEvery = 100_000
	// None is the interval of a coordinator that takes no snapshots of the fold, and begins from none.
	None = ^uint64(0)
	// keptFolds is how many snapshots are kept: the last ones, and others spread over the log, so that no place in it is far from one.
	keptFolds = 64
	// keptLast is how many of the last snapshots always stay, however close together they are: one may be damaged.
	keptLast = 3
	// keptFoldsBytes bounds all snapshots together. The store has no bound of its own, as the server would reserve that much from the
	// start.
	keptFoldsBytes = 1 << 30
	// keepTimeout bounds how long a snapshot may take, beginning with the one before it.
	keepTimeout = 10 * time.Minute
)

// Keeper takes snapshots of the fold outside the loop, at no cost to the loop. It folds the log itself, from the snapshot before, and
// removes snapshots that are too many or unusable. It owns one goroutine, and takes at most one snapshot at a time.
type Keeper struct {
	folds Folds
	log   *slog.Logger
	every uint64
	// closed has the last closed round, until run takes it.
	closed chan place
	ended  chan struct{}
}

// place is where a round ended, and in which log.
type place struct {
	log      string
	sequence uint64
}

// Start begins to take snapshots of the log. It ends when ctx does; Wait returns then.
func Start(ctx context.Context, f Folds, log *slog.Logger, every uint64) *Keeper {
	k := &Keeper{folds: f, log: log, every: every, closed: make(chan place, 1), ended: make(chan struct{})}
	go k.run(ctx)
	return k
}

// Note hands over a closed round, and returns at once. Only one goroutine may call it.
func (k *Keeper) Note(sequence uint64, logID string) {
	select {
	case <-k.closed: // a later one is as good
	default:
	}
	k.closed <- place{logID, sequence}
}

// Wait returns when the keeper has ended.
func (k *Keeper) Wait() { <-k.ended }

func (k *Keeper) run(ctx context.Context) {
	defer close(k.ended)
	// last is where the last snapshot was taken, or failed: then the next one is due when the log has grown as much again.
	last, known := uint64(0), false
	for ctx.Err() == nil { // the next term's keeper does what is left when this term ends
		select {
		case spoiled := <-k.folds.spoiled: // first, so that the order of calls does not depend on chance
			k.remove(ctx, spoiled)
			continue
		default:
		}
		select {
		case <-ctx.Done():
		case spoiled := <-k.folds.spoiled:
			k.remove(ctx, spoiled)
		case round := <-k.closed:
			if round.sequence < k.every || (known && round.sequence-last < k.every) {
				continue
			}
			if !known {
				last, known = k.newest(ctx, round), true
			}
			if round.sequence-last < k.every {
				continue
			}
			last = round.sequence
			if err := k.take(ctx, round); err != nil && ctx.Err() == nil {
				k.log.Warn("no snapshot of the fold was taken", "sequence", round.sequence, "error", err,
					"advice", "none needed: the next is due when the log has grown; until then a start folds more of it")
			}
		}
	}
}

// newest returns where the last snapshot up to a place was taken; 0 if there is none, or if the snapshots cannot be listed.
func (k *Keeper) newest(ctx context.Context, upTo place) uint64 {
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	sequences, err := k.folds.list(ctx, upTo.log)
	if err != nil {
		k.log.Warn("cannot list the snapshots of the fold", "error", err, "advice", "none needed: another one is taken")
	}
	for _, sequence := range sequences {
		if sequence <= upTo.sequence {
			return sequence
		}
	}
	return 0
}

// take takes the snapshot at the end of a round. If the snapshot before is far, it also takes others on the way. They spread over the log
// again, and an interrupted keeper need not fold the same messages again.
func (k *Keeper) take(ctx context.Context, round place) error {
	fold, reader, err := k.folds.Begin(ctx, round.sequence)
	if err != nil {
		return err
	}
	defer reader.Stop()
	apart := max(k.every, round.sequence/(keptFolds-keptLast))
	for fold.Cluster.Sequence < round.sequence {
		at := round.sequence
		if left := at - fold.Cluster.Sequence; left > apart && left-apart >= k.every {
			at = fold.Cluster.Sequence + apart
		}
		if err := k.takeNext(ctx, fold, reader, at, round); err != nil {
			return err
		}
	}
	return nil
}

// takeNext folds on to the end of the round at the place, and stores the state there.
func (k *Keeper) takeNext(ctx context.Context, fold *projections.Fold, reader bus.Reader, at uint64, round place) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	began := time.Now()
	if err := toClosed(ctx, fold, reader, at); err != nil {
		return err
	}
	if fold.Cluster.Sequence > round.sequence {
		return fmt.Errorf("no round is closed at %d", round.sequence)
	}
	snapshot, err := projections.SnapshotOf(fold.Cluster, k.folds.signer)
	if err != nil {
		return err
	}
	if snapshot.Size() > maxFoldSnapshot {
		return fmt.Errorf("the state has %d bytes, and a snapshot %d at most", snapshot.Size(), maxFoldSnapshot)
	}
	taken := place{round.log, fold.Cluster.Sequence}
	objects := k.folds.bus.Objects(bus.ObjectsFolds)
	if err := k.makeRoom(ctx, objects, taken, round.sequence, snapshot.Size()); err != nil {
		return err
	}
	if err := store(ctx, objects, foldName(taken.log, taken.sequence), snapshot); err != nil {
		return err
	}
	k.log.Info("took a snapshot of the fold", "sequence", taken.sequence, "round", fold.Cluster.Round, "bytes", snapshot.Size(), "took", time.Since(began))
	return nil
}

// toClosed folds on to the first round that ends at or after the place.
func toClosed(ctx context.Context, fold *projections.Fold, reader bus.Reader, at uint64) error {
	for {
		m, err := Next(ctx, reader)
		if err != nil {
			return err
		}
		records, err := fold.Take(m)
		if err != nil {
			return err
		}
		if len(records) == 0 || m.Sequence < at {
			continue
		}
		if _, closed := records[len(records)-1].Data.(events.RoundClosed); closed { // a voided round gets no snapshot
			return nil
		}
	}
}

// makeRoom removes snapshots that are too many or too large, not counting the one being taken. It removes snapshots that no coordinator
// reads: those of other logs, of earlier versions, past the end of a log that was longer once, and before the beginning of a trimmed log.
// It also removes the parts of snapshots that were never completed.
func (k *Keeper) makeRoom(ctx context.Context, objects bus.Objects, taken place, end uint64, size int64) error {
	now, err := k.folds.bus.Now(ctx)
	if err != nil {
		return err
	}
	if err := objects.Tidy(ctx, now.Add(-keepTimeout)); err != nil {
		return err
	}
	all, err := objects.All(ctx)
	if err != nil {
		return err
	}
	state, err := k.folds.bus.State(ctx, bus.Log)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b bus.Object) int { return strings.Compare(a.Name, b.Name) }) // the store returns them in no order
	sizes := map[uint64]int64{taken.sequence: size}
	for _, o := range all {
		sequence, ours := foldSequence(taken.log, o.Name)
		switch {
		case !ours || sequence > end || sequence < state.First:
			if err := objects.Delete(ctx, o.Name); err != nil {
				return err
			}
		case sequence != taken.sequence:
			sizes[sequence] = o.Size
		}
	}
	if floor := slices.Min(slices.Collect(maps.Keys(sizes))); state.First > 1 && floor != taken.sequence {
		delete(sizes, floor) // folds of a trimmed log begin with it
	}
	for _, sequence := range TooMany(sizes) {
		if err := objects.Delete(ctx, foldName(taken.log, sequence)); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a snapshot that could not be used, unless another one was stored there since.
func (k *Keeper) remove(ctx context.Context, spoiled place) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	_, reader, err := k.folds.load(ctx, spoiled.log, spoiled.sequence)
	if err == nil {
		reader.Stop()
		return
	}
	if !useless(err) {
		return
	}
	if err := k.folds.bus.Objects(bus.ObjectsFolds).Delete(ctx, foldName(spoiled.log, spoiled.sequence)); err != nil {
		k.log.Warn("cannot remove an unusable snapshot of the fold", "sequence", spoiled.sequence, "error", err)
		return
	}
	k.log.Info("removed an unusable snapshot of the fold", "sequence", spoiled.sequence, "reason", err)
}

// TooMany returns which snapshots, by their places in the log, must go because of their number or their bytes. The last one stays.
func TooMany(sizes map[uint64]int64) []uint64 {
	sequences := slices.Collect(maps.Keys(sizes))
	sum := int64(0)
	for _, size := range sizes {
		sum += size
	}
	gone := Surplus(sequences, keptFolds)
	for _, sequence := range gone {
		sum -= sizes[sequence]
	}
	for keep := len(sequences) - len(gone) - 1; sum > keptFoldsBytes && keep > 0; keep-- {
		before := len(gone)
		gone = Surplus(sequences, keep)
		for _, sequence := range gone[before:] {
			sum -= sizes[sequence]
		}
	}
	return gone
}

// Surplus returns which snapshots, by their places in the log, must go so that keep of them are left, spread over the log, and with the
// last few among them. It removes the snapshot whose neighbours are closest to each other.
func Surplus(sequences []uint64, keep int) []uint64 {
	rest := slices.Sorted(slices.Values(sequences))
	var gone []uint64
	for len(rest) > keep {
		nearest := 0
		for i := range max(len(rest)-keptLast, 1) {
			if gap(rest, i) < gap(rest, nearest) {
				nearest = i
			}
		}
		gone = append(gone, rest[nearest])
		rest = slices.Delete(rest, nearest, nearest+1)
	}
	return gone
}

// gap is the distance between the neighbours of a place. The neighbour before the first is the beginning of the log.
func gap(sequences []uint64, i int) uint64 {
	if i == 0 {
		return sequences[1]
	}
	return sequences[i+1] - sequences[i-1]
}
