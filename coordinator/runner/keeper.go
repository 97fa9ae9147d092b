package runner

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const (
	// DefaultSnapshotEvery is how many messages of the log lie between two snapshots of the fold: as many are folded in a part of a
	// second.
	DefaultSnapshotEvery = 100_000
	// NoSnapshots is the distance of a coordinator that takes no snapshots of the fold, and begins from none.
	NoSnapshots = ^uint64(0)
	// keptFolds is how many snapshots are kept: the last of them, and others all over the log, so that no place in it is far from one.
	keptFolds = 16
	// keptLast is how many of the last stay, however near to each other they are: one of them may be damaged.
	keptLast = 3
	// keepTimeout bounds the taking of one.
	keepTimeout = 10 * time.Minute
)

// keeper takes snapshots of the fold beside the loop, which it costs nothing: it folds the log itself, from the snapshot before. It
// owns one goroutine, and at most one snapshot is under way.
type keeper struct {
	folds folds
	log   *slog.Logger
	every uint64
	// closed has the last closed round, if it was not taken yet.
	closed chan closedRound
	ended  chan struct{}
}

// closedRound is where a round ended, and in which log.
type closedRound struct {
	log      string
	sequence uint64
}

// startKeeper begins to take snapshots of the log. It ends when ctx does; wait returns then.
func startKeeper(ctx context.Context, f folds, log *slog.Logger, every uint64) *keeper {
	k := &keeper{folds: f, log: log, every: every, closed: make(chan closedRound, 1), ended: make(chan struct{})}
	go k.run(ctx)
	return k
}

// note hands over a round that was closed, and returns at once. One goroutine alone may call it.
func (k *keeper) note(sequence uint64, logID string) {
	select {
	case <-k.closed: // a later one is as good
	default:
	}
	k.closed <- closedRound{logID, sequence}
}

// wait returns when the keeper has ended.
func (k *keeper) wait() { <-k.ended }

func (k *keeper) run(ctx context.Context) {
	defer close(k.ended)
	// last is where the last snapshot was taken, or tried in vain: then the next is due when the log has grown as much again.
	last, known := uint64(0), false
	for {
		select {
		case <-ctx.Done():
			return
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

// newest returns where the last snapshot up to a place was taken; 0 where there is none, or nobody knows.
func (k *keeper) newest(ctx context.Context, upTo closedRound) uint64 {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
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

// take takes the snapshot at the end of a round, and lets go of what is one too many.
func (k *keeper) take(ctx context.Context, round closedRound) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	began := time.Now()
	fold, reader, err := k.folds.begin(ctx, round.sequence)
	if err != nil {
		return err
	}
	defer reader.Stop()
	if err := to(ctx, fold, reader, round.sequence); err != nil {
		return err
	}
	if fold.Cluster.Sequence != round.sequence {
		return fmt.Errorf("no round is closed at %d", round.sequence)
	}
	body, err := projections.EncodeFold(fold.Cluster)
	if err != nil {
		return err
	}
	objects := k.folds.bus.Objects(bus.ObjectsFolds)
	if err := objects.Put(ctx, foldName(round.log, round.sequence), bytes.NewReader(body)); err != nil {
		return err
	}
	k.log.Info("took a snapshot of the fold", "sequence", round.sequence, "round", fold.Cluster.Round, "bytes", len(body), "took", time.Since(began))
	return k.prune(ctx, objects, round)
}

// prune lets go of snapshots that are too many, and of those that nobody reads: of other logs, of earlier versions, and of a log that was
// longer once.
func (k *keeper) prune(ctx context.Context, objects bus.Objects, last closedRound) error {
	all, err := objects.All(ctx)
	if err != nil {
		return err
	}
	var sequences []uint64
	for _, o := range all {
		sequence, ours := foldSequence(last.log, o.Name)
		if ours && sequence <= last.sequence {
			sequences = append(sequences, sequence)
			continue
		}
		if err := objects.Delete(ctx, o.Name); err != nil {
			return err
		}
	}
	for _, sequence := range Surplus(sequences, keptFolds) {
		if err := objects.Delete(ctx, foldName(last.log, sequence)); err != nil {
			return err
		}
	}
	return nil
}

// Surplus returns which of the places that snapshots were taken at are to go, so that so many are left: all over the log, with the last
// few among them. Of three in a row the middle one goes where those beside it are nearest to each other.
func Surplus(sequences []uint64, keep int) []uint64 {
	rest := slices.Sorted(slices.Values(sequences))
	var gone []uint64
	for len(rest) > keep {
		nearest := 0
		for i := range len(rest) - keptLast {
			if gap(rest, i) < gap(rest, nearest) {
				nearest = i
			}
		}
		gone = append(gone, rest[nearest])
		rest = slices.Delete(rest, nearest, nearest+1)
	}
	return gone
}

// gap is how far apart those beside one are. Before the first is the beginning of the log.
func gap(sequences []uint64, i int) uint64 {
	if i == 0 {
		return sequences[1]
	}
	return sequences[i+1] - sequences[i-1]
}
