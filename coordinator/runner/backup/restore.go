package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// batchBytes bounds what is appended to the log as one. The server keeps it until it is whole.
const batchBytes = 1 << 20

// snapshotTimeout bounds how long a restore takes for a snapshot of the state.
const snapshotTimeout = time.Minute

// Restoration puts a backup onto a bus.
type Restoration struct {
	Bus    *bus.JetStream
	Store  Store
	Backup Manifest
	// State is what Verify returned of the backup.
	State *projections.Cluster
	// Signer signs the snapshot of the state; nil where rounds of the log are not signed.
	Signer *events.Signer
	// Replicas is how many servers store each stream.
	Replicas int
}

// Run fills the log of a bus that has none, and puts back the configs and the contents of volumes. Until all is there the bus says that it has no
// log, and Run begins again. The streams must be adopted then. Run reports false if the bus has the log of the backup already, and so
// everything. told takes each message before it is written.
func (r Restoration) Run(ctx context.Context, told func(events.Message)) (bool, error) {
	filling, err := r.Bus.BeginRestore(ctx, r.Backup.Log, r.Replicas)
	if errors.Is(err, bus.ErrStands) {
		return false, r.stands(ctx)
	}
	if err != nil {
		return false, err
	}
	fill := &filler{ctx: ctx, bus: r.Bus}
	if _, err := Verify(ctx, r.Store, r.Backup, func(message events.Message) error { told(message); return fill.add(message) }); err != nil {
		return false, err
	}
	if err := fill.flush(); err != nil {
		return false, err
	}
	if err := errors.Join(r.putConfigs(ctx), r.putVolumes(ctx)); err != nil {
		return false, err
	}
	if err := r.Bus.EndRestore(ctx, filling, r.Backup.Sequence); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	_ = snapshots.Put(ctx, r.Bus, r.State, r.Signer) // a cache: without it coordinators fold the whole log
	return true, nil
}

// stands returns nil if the log that stands has the state of the backup, else bus.ErrStands.
func (r Restoration) stands(ctx context.Context) error {
	log, err := r.Bus.State(ctx, bus.Log)
	if err != nil {
		return err
	}
	another := fmt.Errorf("%w already, which is not that of the backup: restore is for a bus whose log was lost", bus.ErrStands)
	if log.Identity != r.State.LogID() || log.First > r.State.Sequence || log.Last < r.State.Sequence {
		return another
	}
	reader, err := r.Bus.Read(ctx, bus.Log, r.State.Sequence)
	if err != nil {
		return err
	}
	defer reader.Stop()
	m, err := snapshots.Next(ctx, reader)
	if err == nil && r.State.Holds(m) != nil {
		err = another
	}
	return err
}

// filler appends messages to the log, many at once.
type filler struct {
	ctx   context.Context
	bus   *bus.JetStream
	after uint64
	batch []events.Message
	bytes int
}

func (f *filler) add(m events.Message) error {
	m.Header = written(m.Header)
	f.batch, f.bytes = append(f.batch, m), f.bytes+len(m.Body)
	if len(f.batch) < bus.MaxBatch && f.bytes < batchBytes {
		return nil
	}
	return f.flush()
}

func (f *filler) flush() error {
	if len(f.batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.ctx, bus.CallTimeout)
	defer cancel()
	last, err := f.bus.Append(ctx, bus.Log, f.after, f.batch)
	if err != nil {
		return err
	}
	if want := f.batch[len(f.batch)-1].Sequence; last != want {
		return fmt.Errorf("fill the log: a message has sequence %d and must have %d: another client has written to it: stop it, and restore again", last, want)
	}
	f.after, f.batch, f.bytes = last, f.batch[:0], 0
	return nil
}

// written returns the headers that a coordinator wrote. Those of NATS say how the message was to be stored, which another message must not
// repeat.
func written(h events.Header) events.Header {
	own := make(events.Header, len(h))
	for name, values := range h {
		if !strings.HasPrefix(strings.ToLower(name), "nats-") {
			own[name] = values
		}
	}
	return own
}

func (r Restoration) putConfigs(ctx context.Context) error {
	bucket, err := r.Bus.Bucket(ctx, bus.BucketConfigs)
	if err != nil {
		return err
	}
	return readConfigs(ctx, r.Store, r.Backup, func(c config) error {
		_, err := bucket.Put(ctx, c.Key, c.Value, 0)
		if errors.Is(err, bus.ErrPosition) { // the bucket was not lost: what it has is newer
			return nil
		}
		return err
	})
}

func (r Restoration) putVolumes(ctx context.Context) error {
	objects := r.Bus.Objects(bus.ObjectsVolumes)
	for _, v := range r.Backup.Volumes {
		switch _, err := objects.Stat(ctx, v.Digest); {
		case err == nil:
			continue
		case !errors.Is(err, bus.ErrNoKey):
			return err
		}
		if err := putVolume(ctx, objects, r.Store, v); err != nil {
			return err
		}
	}
	return nil
}

// putVolume stores a content as it is read. A damaged content fails to be read, and is not stored.
func putVolume(ctx context.Context, objects bus.Objects, s Store, v Volume) error {
	content, found := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = found.CloseWithError(readVolume(ctx, s, v, found))
	}()
	err := objects.Put(ctx, v.Digest, content)
	err = errors.Join(err, content.Close()) // what is still being read ends
	<-ended
	return err
}

// Lost is what happened after the backup, and is not known any more.
type Lost struct {
	// Events are those of the log. Commands are those that were acknowledged, by the sequence of their acknowledgement.
	Events   Range `json:"events"`
	Commands Range `json:"commands"`
}

// Range is a part of a stream: From is the first sequence, and To the last. To is 0 where the part reaches to the end of a stream that is
// gone, and From is 0 where nothing is lost.
type Range struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// String says which sequences were lost.
func (r Range) String() string {
	switch {
	case r.From == 0:
		return "none"
	case r.To == 0:
		return fmt.Sprintf("all from sequence %d on", r.From)
	}
	return fmt.Sprintf("sequence %d to %d", r.From, r.To)
}

// Missed returns what happened after the state, as far as the streams that stand beside the log tell. It must be asked before they are
// adopted.
func Missed(ctx context.Context, b *bus.JetStream, c *projections.Cluster) (Lost, error) {
	lost := Lost{Events: Range{From: c.Sequence + 1}, Commands: Range{From: c.CommandCursor + 1}}
	commands, err := b.State(ctx, bus.Commands)
	if err != nil {
		return lost, err
	}
	if commands.Identity == c.Streams[string(bus.Commands)] && commands.Last >= c.CommandCursor {
		lost.Commands.To = commands.First - 1 // the others are decided again
		if lost.Commands.To < lost.Commands.From {
			lost.Commands = Range{}
		}
	}
	return lost, nil
}
