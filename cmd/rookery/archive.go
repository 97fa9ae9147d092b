package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// trimTimeout bounds how long the leader may take to let go of what is archived.
const trimTimeout = 3 * time.Minute

// archiving writes the oldest part of the log to files, and has the leader let go of it.
type archiving struct {
	link      *link
	folder    string
	keepAge   time.Duration
	keepBytes string
	logger    *slog.Logger
}

func archiveCommand(l *link) *cobra.Command {
	a := &archiving{link: l, logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	cmd := &cobra.Command{
		Use:   "archive --to DIR (--keep-age AGE | --keep-bytes SIZE)",
		Short: "Write the oldest part of the log to files, and let go of it",
		Long: `Write the log up to the last snapshot of the fold that is older than what is to be kept into files of a folder, behind what is there
already. Then all files are read again and folded from the first message on: the hash chain, and the hash of the state, must be
those of the log. Only then the leader is asked to let go of what is before that snapshot, which it reads and compares as well;
the last 1,000 messages before it stay. Without this command the log is kept whole, for ever.

A file has about 500,000 messages, as lines of JSON compressed with zstd, with the SHA-256 of all at its end: zstdcat reads it.
rookery state, replay and what-if read it with --archive DIR. Keep the folder: a log that has let go of its beginning is folded from
snapshots alone, and where none can be used any more, as after an upgrade that folds otherwise, this command puts one back.

Exit codes: 0 archived, or nothing to do; 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery archive --to /var/lib/rookery-archive --keep-age 720h
  rookery archive --to /var/lib/rookery-archive --keep-bytes 10GiB
  rookery state --at 2026-01-01T12:00Z --archive /var/lib/rookery-archive
  zstdcat /var/lib/rookery-archive/*.zst | jq -c .message.subject`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&a.folder, "to", "", "`folder` of the files")
	f.DurationVar(&a.keepAge, "keep-age", 0, "keep what is younger than this `age`, as 720h")
	f.StringVar(&a.keepBytes, "keep-bytes", "", "keep about the last `bytes` of the log, as 10GiB")
	cmd.MarkFlagsMutuallyExclusive("keep-age", "keep-bytes")
	return cmd
}

func (a *archiving) run(cmd *cobra.Command) error {
	if a.folder == "" || (a.keepAge <= 0 && a.keepBytes == "") {
		return usage(cmd, errors.New("say where to write and what to keep: give --to, and --keep-age or --keep-bytes"))
	}
	var keep uint64
	if a.keepBytes != "" {
		var err error
		if keep, err = humanize.ParseBytes(a.keepBytes); err != nil {
			return usage(cmd, fmt.Errorf("--keep-bytes: %w", err))
		}
	}
	b, done, err := a.link.open("rookery archive")
	if err != nil {
		return err
	}
	defer done()
	ctx := cmd.Context()
	state, err := stateOfLog(ctx, b)
	if err != nil {
		return err
	}
	files, err := openArchive(a.folder, state.Identity)
	if err != nil {
		return err
	}
	if state.First > files.end()+1 {
		return fmt.Errorf("the log begins at sequence %d, and the archive in %s ends at %d: name the folder that has what is between", state.First, a.folder, files.end())
	}
	upTo, err := a.upTo(ctx, b, state, keep)
	if err != nil {
		return err
	}
	at, err := a.snapshot(ctx, b, &files, upTo)
	if err != nil {
		return err
	}
	if at == 0 || at < state.First {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "nothing to archive: of what is to go, up to sequence %d, the leader has taken no snapshot yet\n", upTo)
		return err
	}
	return a.move(ctx, b, cmd.OutOrStdout(), files, at)
}

// upTo returns the last sequence of what is not to be kept; 0 for none.
func (a *archiving) upTo(ctx context.Context, b *bus.JetStream, state bus.State, keep uint64) (uint64, error) {
	if a.keepAge > 0 {
		upTo, err := api.Find(ctx, b, 0, time.Now().Add(-a.keepAge))
		if bus.CodeOf(err) == notFound {
			return 0, nil
		}
		return upTo, err
	}
	size, err := b.Size(ctx, bus.Log)
	if err != nil || size <= keep {
		return 0, err
	}
	count := state.Last - state.First + 1
	return state.Last - min(uint64(float64(keep)/float64(size)*float64(count)), count), nil
}

// snapshot returns where the last snapshot up to a place was taken. Where the log has let go of its beginning and none can be used, the
// state at the end of the archive is put back as one.
func (a *archiving) snapshot(ctx context.Context, b *bus.JetStream, files *archived, upTo uint64) (uint64, error) {
	end, err := logState(ctx, b)
	if err != nil {
		return 0, err
	}
	_, _, err = snapshots.Last(ctx, b, a.logger, end.Last)
	if errors.Is(err, snapshots.ErrTrimmed) {
		c, err := files.foldTo(ctx, files.end())
		if err != nil {
			return 0, err
		}
		if err := snapshots.Put(ctx, b, c); err != nil {
			return 0, err
		}
		fmt.Fprintf(os.Stderr, "put the snapshot of the fold at sequence %d back, from the archive\n", c.Sequence)
	} else if err != nil {
		return 0, err
	}
	at, _, err := snapshots.Last(ctx, b, a.logger, upTo)
	if errors.Is(err, snapshots.ErrTrimmed) { // there are snapshots, and all are of what is to be kept
		return 0, nil
	}
	return at, err
}

// move archives the log up to the snapshot, verifies the archive, and has the leader let go.
func (a *archiving) move(ctx context.Context, b *bus.JetStream, out io.Writer, files archived, at uint64) error {
	before := files.end()
	if before < at {
		log, end := watched(api.ReadLog(ctx, b, before+1, at), 1, at)
		err := files.add(ctx, log, at)
		end()
		if err != nil {
			return fmt.Errorf("archive the log from sequence %d to %d: %w", before+1, at, err)
		}
	}
	hash, err := files.verify(ctx, at)
	if err != nil {
		return fmt.Errorf("nothing is let go of, for the archive does not verify: %w", err)
	}
	size, err := files.bytes(before)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "archived sequence %d to %d in %s (%s); read again, the archive folds to the state %.12s\n",
		before+1, files.end(), a.folder, humanize.IBytes(uint64(size)), hash) //nolint:gosec // not below 0
	body, err := json.Marshal(runner.Trim{Log: files.log, Sequence: at, Hash: hash})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trimTimeout)
	defer cancel()
	m, err := b.Request(ctx, events.Message{Subject: events.TrimSubject, Header: events.Header{}, Body: body})
	if err != nil {
		return fmt.Errorf("all is archived, and no leader answers: %w: ask again once one leads", err)
	}
	if why := m.Header.Get(bus.HeaderError); why != "" {
		return fmt.Errorf("all is archived, and the leader lets go of nothing: %s", why)
	}
	var trimmed runner.Trimmed
	if err := json.Unmarshal(m.Body, &trimmed); err != nil {
		return fmt.Errorf("the answer does not read: %w", err)
	}
	_, err = fmt.Fprintf(out, "the log begins at sequence %d now\n", trimmed.First)
	return err
}

// verify reads all files, folds them from the first message on, and returns the hash of the state at a place, which must be the end of a
// round.
func (a archived) verify(ctx context.Context, at uint64) (hash string, err error) {
	log, end := watched(a.messages(1), 1, a.end())
	defer end()
	fold := projections.NewFold()
	for m, err := range log {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return "", err
		}
		if _, err := fold.Take(m); err != nil {
			return "", err
		}
		if m.Sequence == at && fold.Cluster.Sequence == at {
			hash = fold.Cluster.Hash()
		}
	}
	if fold.Cluster.Sequence != a.end() || hash == "" {
		return "", fmt.Errorf("no round of it ends at sequence %d", at)
	}
	return hash, nil
}
