package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator/archive"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Source is the cluster of which a backup is taken.
type Source struct {
	Bus *bus.JetStream
	// Log yields the messages of the log from one sequence to another.
	Log func(ctx context.Context, from, to uint64) iter.Seq2[events.Message, error]
	// Roots are as in a fold.
	Roots []events.RoundKey
	// By is the version of this program, and Now the wall clock's time.
	By  string
	Now func() time.Time
}

const (
	// fileHolds is about how many messages a file has: each file ends with a whole round.
	fileHolds = 500_000
	// takeTimeout bounds one backup: what it has stored and not named yet counts as left over later.
	takeTimeout = orphanedAfter / 2
	// tries is how often a backup goes on to a later state, when a snapshot was removed before its content was copied.
	tries = 3
)

// taking is a backup that is being taken.
type taking struct {
	Source
	store Store
	fold  *projections.Fold
	made  Manifest
	// before has the contents that the backup before has, by digest.
	before map[string]Volume
}

// Take backs up a cluster at the end of its last round. It goes on from the newest backup in the store that is of this log, and reads back
// what it stores. The manifest comes last: without it there is no backup.
func Take(ctx context.Context, source Source, store Store) (Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	t := &taking{Source: source, store: store, fold: projections.NewFold(), before: map[string]Volume{}}
	state, err := t.state(ctx)
	if err != nil {
		return t.made, err
	}
	t.made = Manifest{Format: format, Version: version, By: t.By, Log: state.Identity}
	call, done := context.WithTimeout(ctx, bus.CallTimeout)
	defer done()
	if t.made.Replicas, err = t.Bus.Replicas(call); err != nil {
		return t.made, err
	}
	if err := t.goOn(ctx, state); err != nil {
		return t.made, err
	}
	t.fold.Roots = t.Roots
	for range tries {
		if err := t.takeRounds(ctx); err != nil {
			return t.made, err
		}
		if err := t.takeVolumes(ctx); err != nil {
			return t.made, err
		}
		if len(t.made.Missing) == 0 {
			break
		}
	}
	if err := errors.Join(t.takeConfigs(ctx), t.takeState(ctx)); err != nil {
		return t.made, err
	}
	t.made.Sequence, t.made.Hash = t.fold.Cluster.Sequence, t.fold.Cluster.Hash()
	t.made.Taken = t.Now().UTC().Truncate(time.Millisecond)
	return t.made, t.takeManifest(ctx)
}

func (t *taking) state(ctx context.Context) (bus.State, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	return t.Bus.State(ctx, bus.Log)
}

// goOn begins with the state of the newest backup that is there with all its files, and that the log still has.
func (t *taking) goOn(ctx context.Context, state bus.State) error {
	all, err := List(ctx, t.store)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Err != nil {
			continue
		}
		if m.Log != t.made.Log {
			return fmt.Errorf("%s is a backup of the log %s, and this is %s: give each cluster a place of its own", m.Name(), m.Log, t.made.Log)
		}
		if m.Sequence < state.First || m.Sequence > state.Last {
			continue
		}
		if err := present(ctx, t.store, m.Manifest); errors.Is(err, ErrDamaged) {
			continue
		} else if err != nil {
			return err
		}
		cluster, err := t.stateOf(ctx, m.Manifest)
		if errors.Is(err, ErrDamaged) || projections.Damaged(err) {
			continue
		}
		if err != nil {
			return err
		}
		held, err := t.holds(ctx, cluster)
		if err != nil {
			return err
		}
		if held {
			t.fold, t.made.Rounds = projections.Continue(cluster), m.Rounds
			for _, v := range m.Volumes {
				t.before[v.Digest] = v
			}
			return nil
		}
	}
	return nil
}

// stateOf returns the state of a backup: from its snapshot, or from its log if that was written by another version of the fold.
func (t *taking) stateOf(ctx context.Context, m Manifest) (*projections.Cluster, error) {
	cluster, err := readState(ctx, t.store, m)
	if errors.Is(err, projections.ErrSnapshotVersion) {
		return Verify(ctx, t.store, m, nil)
	}
	return cluster, err
}

// holds reports whether the log has the end of the state's round. A log that was restored since may have gone another way.
func (t *taking) holds(ctx context.Context, c *projections.Cluster) (bool, error) {
	for m, err := range t.Log(ctx, c.Sequence, c.Sequence) {
		if err != nil {
			return false, err
		}
		return c.Holds(m) == nil, nil
	}
	return false, ctx.Err()
}

// takeRounds adds the log from where the fold is to the end of the last round.
func (t *taking) takeRounds(ctx context.Context) error {
	end, err := t.lastClosed(ctx)
	if err != nil {
		return err
	}
	next, stop := iter.Pull2(paced(ctx, t.Log(ctx, t.fold.Last()+1, end)))
	defer stop()
	for t.fold.Last() < end {
		if err := t.takeFile(ctx, next, end); err != nil {
			return err
		}
	}
	if t.fold.Cluster.Sequence == 0 {
		return errors.New("the log has no round: there is nothing to back up yet")
	}
	if t.fold.Cluster.Sequence != t.fold.Last() {
		return fmt.Errorf("the log ends at %d with a round that no coordinator has signed: the next round voids it", t.fold.Last())
	}
	return nil
}

const (
	// worksFor is how long a backup works on the log before it rests.
	worksFor = 5 * time.Millisecond
	// restsFor is how long it rests at most: it may have waited for the bus or for the store.
	restsFor = 10 * worksFor
)

// paced yields the messages, and rests in between for as long as it has worked on them: at least half of the time is left to the coordinator and
// the bus, which decide commands meanwhile.
func paced(ctx context.Context, log iter.Seq2[events.Message, error]) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		began := time.Now()
		for m, err := range log {
			if !yield(m, err) {
				return
			}
			if worked := time.Since(began); worked >= worksFor {
				select {
				case <-time.After(min(worked, restsFor)):
				case <-ctx.Done():
				}
				began = time.Now()
			}
		}
	}
}

// lookBack is how many messages lastClosed reads at most. A round has fewer, and clients may have published some behind it.
const lookBack = 2 * bus.MaxBatch

// lastClosed returns the sequence at which the last round of the log closes; if none is near its end, where the fold is.
func (t *taking) lastClosed(ctx context.Context) (uint64, error) {
	state, err := t.state(ctx)
	if err != nil {
		return 0, err
	}
	end := t.fold.Last()
	for m, err := range t.Log(ctx, max(end, max(state.Last, lookBack)-lookBack)+1, state.Last) {
		if err != nil {
			return 0, err
		}
		if _, _, err := events.DecodeAs[events.RoundClosed](m); err == nil {
			end = m.Sequence
		}
	}
	return end, ctx.Err()
}

// takeFile adds one file, with whole rounds.
func (t *taking) takeFile(ctx context.Context, next func() (events.Message, error, bool), end uint64) (err error) {
	f, err := newSpool()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := archive.NewWriter(f, t.made.Log)
	if err != nil {
		return err
	}
	part := Rounds{First: t.fold.Last() + 1}
	for t.fold.Last() < end && (t.fold.Last() < part.First+fileHolds || t.fold.Cluster.Sequence < t.fold.Last()) {
		m, err, _ := next()
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if _, err := t.fold.Take(m); err != nil {
			return err
		}
		if err := w.Add(m); err != nil {
			return err
		}
	}
	part.Last = t.fold.Last()
	if err := w.Close(); err != nil {
		return err
	}
	part.File, err = t.put(ctx, f, fmt.Sprintf("rounds-%020d-%020d", part.First, part.Last), ".jsonl.zst")
	t.made.Rounds = append(slices.Clip(t.made.Rounds), part)
	return err
}

// takeVolumes adds the contents that the state names.
func (t *taking) takeVolumes(ctx context.Context) error {
	t.made.Volumes, t.made.Missing = nil, nil
	for _, digest := range slices.Sorted(maps.Keys(t.fold.Cluster.Contents())) {
		v, known := t.before[digest]
		if !known {
			var err error
			v, err = t.takeVolume(ctx, digest)
			if errors.Is(err, bus.ErrNoKey) {
				t.made.Missing = append(t.made.Missing, digest)
				continue
			}
			if err != nil {
				return fmt.Errorf("copy the content %s of %s: %w", digest, bus.ObjectsVolumes, err)
			}
			t.before[digest] = v
		}
		t.made.Volumes = append(t.made.Volumes, v)
	}
	return nil
}

func (t *taking) takeVolume(ctx context.Context, digest string) (v Volume, err error) {
	objects := t.Bus.Objects(bus.ObjectsVolumes)
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	if _, err := objects.Stat(call, digest); err != nil { // Get would not report contents that lack parts
		return v, err
	}
	content, err := objects.Get(ctx, digest)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	f, err := newSpool()
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if err := compressed(f, func(to io.Writer) error { _, err := io.Copy(io.MultiWriter(to, sum), content); return err }); err != nil {
		return v, err
	}
	if found := hex.EncodeToString(sum.Sum(nil)); found != digest {
		return v, fmt.Errorf("%w: by its content its name is %s", bus.ErrDamaged, found)
	}
	v.Digest = digest
	v.File, err = t.put(ctx, f, "volume", ".zst")
	return v, err
}

// config is a line of the file of configs.
type config struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

func (t *taking) takeConfigs(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	bucket, err := t.Bus.Bucket(call, bus.BucketConfigs)
	if err != nil {
		return err
	}
	all, err := bucket.All(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b bus.Entry) int { return strings.Compare(a.Key, b.Key) })
	t.made.Configs, err = t.write(ctx, "configs", func(to io.Writer) error {
		for _, e := range all {
			line, err := json.Marshal(config{e.Key, e.Value})
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(to, "%s\n", line); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (t *taking) takeState(ctx context.Context) error {
	snapshot, err := projections.SnapshotOf(t.fold.Cluster, nil)
	if err == nil {
		t.made.State, err = t.write(ctx, "state", snapshot.Write)
	}
	return err
}

func (t *taking) takeManifest(ctx context.Context) (err error) {
	if err := present(ctx, t.store, t.made); err != nil {
		return err
	}
	body, err := t.made.encode()
	if err != nil {
		return err
	}
	f, err := newSpool()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(body); err != nil {
		return err
	}
	if err := f.rewind(); err != nil {
		return err
	}
	return t.store.Put(ctx, t.made.Name(), f.File)
}

// write stores as a file what the function writes, compressed.
func (t *taking) write(ctx context.Context, kind string, write func(io.Writer) error) (stored File, err error) {
	f, err := newSpool()
	if err != nil {
		return stored, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := compressed(f, write); err != nil {
		return stored, err
	}
	return t.put(ctx, f, kind, ".jsonl.zst")
}

// put stores a file under a name that follows from its content, and reads it back.
func (t *taking) put(ctx context.Context, f *spool, kind, suffix string) (File, error) {
	const digits = 16
	stored := File{Bytes: f.bytes, Sum: hex.EncodeToString(f.sum.Sum(nil))}
	stored.Name = kind + "-" + stored.Sum[:digits] + suffix
	if err := f.rewind(); err != nil {
		return stored, err
	}
	if err := t.store.Put(ctx, stored.Name, f.File); err != nil {
		return stored, err
	}
	return stored, check(ctx, t.store, stored, func(io.Reader) error { return nil })
}
