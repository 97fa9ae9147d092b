package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/archive"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/runner/backup"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// archived is the folder with the archived part of a log; the zero value is empty.
type archived struct {
	folder string
	log    string
	files  []archive.File
}

func archiveFlag(cmd *cobra.Command, folder *string) {
	cmd.Flags().StringVar(folder, "archive", "", "`folder` of rookery archive, with the part that the log no longer has")
}

// openArchive lists the files of the folder.
func openArchive(folder, logID string) (archived, error) {
	a := archived{folder: folder, log: logID}
	if folder == "" {
		return a, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return a, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if a.files, err = archive.Files(logID, names); err != nil {
		return a, fmt.Errorf("read the archive in %s: %w", folder, err)
	}
	return a, nil
}

// end returns the last archived sequence; 0 for none.
func (a archived) end() uint64 { return archive.End(a.files) }

// messages yields the archived messages from a sequence on.
func (a archived) messages(from uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for _, f := range a.files {
			if f.Last < from {
				continue
			}
			for m, err := range a.file(f) {
				if err == nil && m.Sequence < from {
					continue
				}
				if !yield(m, err) || err != nil {
					return
				}
			}
		}
	}
}

func (a archived) file(f archive.File) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		opened, err := os.Open(filepath.Join(a.folder, f.Name))
		if err != nil {
			yield(events.Message{}, err)
			return
		}
		defer func() { _ = opened.Close() }()
		archive.Read(bufio.NewReaderSize(opened, 1<<20), a.log, f)(yield)
	}
}

// wholeLog yields the log from one sequence to another: the archived part from the files, and the rest from the bus.
func (a archived) wholeLog(ctx context.Context, b bus.Bus, from, to uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for m, err := range a.messages(from) {
			switch {
			case err == nil && ctx.Err() != nil:
				yield(m, ctx.Err())
				return
			case err == nil && m.Sequence > to:
				return
			case !yield(m, err) || err != nil:
				return
			}
		}
		api.ReadLog(ctx, b, max(from, a.end()+1), to)(yield)
	}
}

// before returns the sequence of the last archived message at or before a time; 0 if all are later.
func (a archived) before(at time.Time) (last uint64, err error) {
	for m, err := range a.messages(1) {
		if err != nil {
			return 0, err
		}
		data, attributes, err := events.Decode(m)
		if _, closed := data.(events.RoundClosed); err != nil || !closed {
			continue // only the ends of rounds have the coordinator's time
		}
		if attributes.Time.After(at) {
			return last, nil
		}
		last = m.Sequence
	}
	return last, nil
}

// find returns the sequence that a place stands for, in the archive or in the log.
func (a archived) find(ctx context.Context, b *bus.JetStream, p place) (uint64, error) {
	if p.sequence > 0 && p.sequence <= a.end() {
		return p.sequence, nil
	}
	found, err := p.find(ctx, b)
	if bus.CodeOf(err) != notFound || p.time.IsZero() || len(a.files) == 0 {
		return found, err
	}
	found, err = a.before(p.time)
	if err == nil && found == 0 {
		err = fmt.Errorf("the archive begins after %s", p.time.Local().Format(time.RFC3339))
	}
	return found, err
}

const notFound = 404

// begin returns the sequence of the first message at or behind a place. Without a place, or for one before the log and its archive,
// that is the first message of both.
func (a archived) begin(ctx context.Context, b *bus.JetStream, p place) (uint64, error) {
	log, err := logState(ctx, b)
	if err != nil {
		return 0, err
	}
	oldest := log.First
	if len(a.files) > 0 {
		oldest = 1
	}
	switch {
	case p == (place{}):
		return oldest, nil
	case p.sequence > 0:
		return a.find(ctx, b, p)
	}
	p.time = p.time.Add(-time.Nanosecond)
	last, err := p.find(ctx, b)
	if bus.CodeOf(err) == notFound {
		last, err = a.before(p.time)
	}
	return max(last+1, oldest), err
}

// foldTo folds the archive to the last round that closes at or before a place.
func (a archived) foldTo(ctx context.Context, at uint64) (*projections.Cluster, error) {
	if at > a.end() {
		return nil, fmt.Errorf("the archive in %s ends at sequence %d, before %d", a.folder, a.end(), at)
	}
	fold := projections.NewFold()
	for m, err := range a.messages(1) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		if m.Sequence > at {
			break
		}
		if _, err := fold.Take(m); err != nil {
			return nil, err
		}
	}
	if fold.Cluster.Sequence == 0 {
		return nil, fmt.Errorf("no round closes at or before sequence %d: the cluster had no state yet", at)
	}
	return fold.Cluster, nil
}

// fileHolds is about how many messages a file has: each file ends with a whole round.
const fileHolds = 500_000

// add appends the log behind the archive, up to the end of a round, as new files. Each file appears only once it is whole.
func (a *archived) add(ctx context.Context, log iter.Seq2[events.Message, error], to uint64) error {
	next, stop := iter.Pull2(log)
	defer stop()
	for a.end() < to {
		f, err := a.addFile(ctx, next, to)
		if err != nil {
			return err
		}
		a.files = append(a.files, f)
	}
	return nil
}

func (a *archived) addFile(ctx context.Context, next func() (events.Message, error, bool), to uint64) (f archive.File, err error) {
	part, err := os.CreateTemp(a.folder, ".part-")
	if err != nil {
		return f, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, part.Close(), os.Remove(part.Name()))
		}
	}()
	first := a.end() + 1
	last, err := writePart(ctx, part, a.log, next, min(first+fileHolds-1, to))
	if err != nil {
		return f, err
	}
	if err := part.Sync(); err != nil {
		return f, err
	}
	f = archive.NewFile(a.log, first, last)
	if err := os.Rename(part.Name(), filepath.Join(a.folder, f.Name)); err != nil {
		return f, err
	}
	return f, errors.Join(part.Close(), backup.Folder(a.folder).Sync())
}

// writePart writes messages up to the first end of a round at or behind a place, and returns that sequence.
func writePart(ctx context.Context, to io.Writer, logID string, next func() (events.Message, error, bool), at uint64) (uint64, error) {
	w, err := archive.NewWriter(to, logID)
	if err != nil {
		return 0, err
	}
	for {
		m, err, more := next()
		if !more {
			err = errors.New("the log ended too early")
		}
		if err := errors.Join(err, ctx.Err()); err != nil {
			return 0, err
		}
		if err := w.Add(m); err != nil {
			return 0, err
		}
		if _, _, err := events.DecodeAs[events.RoundClosed](m); err == nil && m.Sequence >= at {
			return m.Sequence, w.Close()
		}
	}
}

// bytes returns the size of the files with messages behind a sequence.
func (a archived) bytes(behind uint64) (sum int64, err error) {
	for _, f := range slices.Backward(a.files) {
		if f.Last <= behind {
			break
		}
		info, err := os.Stat(filepath.Join(a.folder, f.Name))
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}
