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

// trimTimeout bounds how long the leader may take to trim the log.
const trimTimeout = 3 * time.Minute

// archiving writes the oldest part of the log to files, and asks the leader to trim it.
type archiving struct {
	link      *link
	folder    string
	keepAge   time.Duration
	keepBytes string
	logger    *slog.Logger
	admission admission
}

func archiveCommand(l *link) *cobra.Command {
	a := &archiving{link: l, logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	cmd := &cobra.Command{
		Use:   "archive --to DIR (--keep-age AGE | --keep-bytes SIZE)",
		Short: "Archive the oldest part of the log, then trim the log",
		Long: `Archive the oldest part of the log into the files of a folder, then trim the log. The part ends at the last snapshot of the fold
that is older than what you keep. Archive appends to the files that the folder already has. Without this command the log keeps
every message for ever.

Archive then reads all files and folds them from the first message. The hash chain and the hash of the state must match the log.
Only then does it ask the leader to trim the log before that snapshot. The leader verifies the snapshot too, and keeps the last
1,000 messages before it.

A file has about 500,000 messages, as lines of JSON compressed with zstd, and ends with their SHA-256: zstdcat reads it. With
--archive DIR, rookery state, replay and what-if read the folder. Keep it: coordinators fold a trimmed log from snapshots. If none
is usable, as after an upgrade that changes the fold, run this command again: it restores a snapshot from the archive.

Exit codes: 0 archived, or nothing to do; 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery archive --to /var/lib/rookery-archive --keep-age 720h
  rookery archive --to /var/lib/rookery-archive --keep-bytes 10GiB
  rookery state --at 2026-01-01T12:00Z --archive /var/lib/rookery-archive
  zstdcat /var/lib/rookery-archive/*.zst | jq -c .message.subject`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&a.folder, "to", "", "`folder` to write the files into")
	f.DurationVar(&a.keepAge, "keep-age", 0, "keep messages younger than this `age`, as in 720h")
	f.StringVar(&a.keepBytes, "keep-bytes", "", "keep about the last `bytes` of the log, as in 10GiB")
	a.admission.flag(cmd, "the keys that sign rounds of the log, for a snapshot that is restored from the archive")
	cmd.MarkFlagsMutuallyExclusive("keep-age", "keep-bytes")
	return cmd
}

func (a *archiving) run(cmd *cobra.Command) error {
	if a.folder == "" || (a.keepAge <= 0 && a.keepBytes == "") {
		return usage(cmd, errors.New("archive needs a folder and how much to keep: give --to, and --keep-age or --keep-bytes"))
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
		return fmt.Errorf("the log begins at sequence %d, but the archive in %s ends at %d: give --to the folder with the messages in "+
			"between", state.First, a.folder, files.end())
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
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "nothing to archive: the leader has no snapshot at or before sequence %d yet\n", upTo)
		return err
	}
	return a.move(ctx, b, cmd.OutOrStdout(), files, at)
}

// upTo returns the last sequence that the operator does not want to keep; 0 for none.
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

// snapshot returns the sequence of the last snapshot at or before a place. If the log is trimmed and no snapshot is usable, it
// restores one from the state at the end of the archive.
func (a *archiving) snapshot(ctx context.Context, b *bus.JetStream, files *archived, upTo uint64) (uint64, error) {
	end, err := logState(ctx, b)
	if err != nil {
		return 0, err
	}
	_, _, err = snapshots.Last(ctx, b, a.logger, end.Last, nil)
	if errors.Is(err, snapshots.ErrTrimmed) {
		c, err := files.foldTo(ctx, files.end())
		if err != nil {
			return 0, err
		}
		signers, err := a.admission.signers()
		if err != nil {
			return 0, err
		}
		if c.Key != "" && len(signers) == 0 {
			return 0, fmt.Errorf("no snapshot of the fold can be used, and rounds of this log are signed with %s: name the folder with its key with --admission", c.Key)
		}
		if err := snapshots.Put(ctx, b, c, signers.First()); err != nil {
			return 0, err
		}
		fmt.Fprintf(os.Stderr, "restored the snapshot of the fold at sequence %d from the archive\n", c.Sequence)
	} else if err != nil {
		return 0, err
	}
	at, _, err := snapshots.Last(ctx, b, a.logger, upTo, nil)
	if errors.Is(err, snapshots.ErrTrimmed) { // all snapshots are of the part that the operator keeps
		return 0, nil
	}
	return at, err
}

// move archives the log up to the snapshot, verifies the archive, and asks the leader to trim the log.
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
		return fmt.Errorf("the log is not trimmed, because the archive does not verify: %w", err)
	}
	size, err := files.bytes(before)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "archived sequence %d to %d in %s (%s); verified: the archive folds to the state %.12s\n",
		before+1, files.end(), a.folder, humanize.IBytes(uint64(size)), hash) //nolint:gosec // not below 0
	body, err := json.Marshal(runner.Trim{Log: files.log, Sequence: at, Hash: hash})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trimTimeout)
	defer cancel()
	m, err := b.Request(ctx, events.Message{Subject: events.TrimSubject, Header: events.Header{}, Body: body})
	if err != nil {
		return fmt.Errorf("archived, but no leader answered the request to trim the log: %w: run this again once one leads", err)
	}
	if why := m.Header.Get(bus.HeaderError); why != "" {
		return fmt.Errorf("archived, but the leader refused to trim the log: %s", why)
	}
	var trimmed runner.Trimmed
	if err := json.Unmarshal(m.Body, &trimmed); err != nil {
		return fmt.Errorf("read the leader's answer: %w", err)
	}
	_, err = fmt.Fprintf(out, "the log now begins at sequence %d\n", trimmed.First)
	return err
}

// verify reads all files and folds them from the first message. It returns the hash of the state at a place, which must be the end
// of a round.
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
		return "", fmt.Errorf("no round ends at sequence %d", at)
	}
	return hash, nil
}
