package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/capsule"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// capsuling writes a part of a cluster's log into a file.
type capsuling struct {
	link     *link
	from, to string
	file     string
}

func capsuleCommand(l *link) *cobra.Command {
	c := &capsuling{link: l}
	cmd := &cobra.Command{
		Use:   "capsule [--from PLACE] [--to PLACE] --out FILE",
		Short: "Export a part of the log as a reproducible bug report",
		Long: `Export a part of the log as one self-contained JSON file. It holds the log up to the end of the part, with all headers, because
the earlier messages give the state where the part begins. It also holds the commands that the part answers, as far as the bus
still has them, and the version of this program. Equal parts give equal files.

simulation -capsule FILE folds the log, verifies its hash chain, and decides each round of the part again: every command, and the
node of every instance. It reports the first difference.

A capsule holds specs as clients sent them, with environment and arguments, and the names and addresses of nodes. Read it before
you share it. It holds no values of secrets, because neither the log nor commands contain them.

A capsule has at most 500,000 messages and 256 MiB. A place is
` + placeForms + `.

Exit codes: 0 written, 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery capsule --out bug.json
  rookery capsule --from 10m --out bug.json
  rookery capsule --from 2026-11-01T12:00:00Z --to 2026-11-01T12:10:00Z --out bug.json
  rookery capsule --from 4711 --to 4790 --out - | gzip > bug.json.gz
  simulation -capsule bug.json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&c.from, "from", "", "first `place` of the part (default the beginning of the log)")
	f.StringVar(&c.to, "to", "", "last `place` of the part (default the end of the log)")
	f.StringVarP(&c.file, "out", "o", "", "`file` to write; - for standard output")
	return cmd
}

func (c *capsuling) run(cmd *cobra.Command) error {
	if c.file == "" {
		return usage(cmd, errors.New("capsule needs a file to write: give --out"))
	}
	from, to, err := places(c.from, c.to)
	if err != nil {
		return usage(cmd, err)
	}
	b, done, err := c.link.open("rookery capsule")
	if err != nil {
		return err
	}
	defer done()
	recorded, err := record(cmd.Context(), b, from, to)
	if err != nil {
		return err
	}
	body, err := capsule.Write(capsule.Capsule{Made: capsule.Made{By: "rookery", Version: capsule.VersionOf(debug.ReadBuildInfo())}, Recorded: &recorded})
	if err != nil {
		return err
	}
	if c.file == "-" {
		_, err = cmd.OutOrStdout().Write(body)
		return err
	}
	if err := os.WriteFile(c.file, body, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s has sequence %d to %d of the log and %d commands, in %d bytes; specs in it may be confidential: read it "+
		"before you share it\n",
		c.file, recorded.From, recorded.To, len(recorded.Commands), len(body))
	return nil
}

// record reads the log to the end of the part, and the commands that the part answers.
func record(ctx context.Context, b bus.Bus, from, to whatif.Moment) (r capsule.Recorded, err error) {
	state, err := stateOfLog(ctx, b)
	if err != nil {
		return r, err
	}
	log, end := watched(api.ReadLog(ctx, b, 1, state.Last), 1, state.Last)
	defer end()
	p := partOf{from: from, to: to}
	for m, err := range log {
		if err != nil {
			return r, err
		}
		if over, err := p.take(m); err != nil || over {
			if err != nil {
				return r, err
			}
			break
		}
	}
	if p.last == 0 {
		return r, fmt.Errorf("the log has no complete round between --from and --to: it ends at sequence %d", state.Last)
	}
	r = capsule.Recorded{From: p.first, To: p.last, Log: p.log[:p.last]}
	r.Commands, err = commandsOf(ctx, b, p.above, p.upTo)
	return r, err
}

// partOf finds the rounds of a part of the log, and keeps all messages up to the end of the part.
type partOf struct {
	from, to whatif.Moment
	log      []capsule.Message
	opened   uint64 // where the current round begins
	// first and last are the sequences of the part; above and upTo bound the commands that it answers.
	first, last, above, upTo uint64
}

// take reports whether the part is over.
func (p *partOf) take(m events.Message) (over bool, err error) {
	if len(p.log) == capsule.MaxMessages {
		return false, fmt.Errorf("a capsule has at most %d messages, counted from the start of the log: give a --to before sequence "+
			"%d", capsule.MaxMessages, m.Sequence)
	}
	p.log = append(p.log, capsule.Keep(m))
	r, err := events.ParseRecord(m)
	closed, ok := r.Data.(events.RoundClosed)
	if err != nil || !ok { // an unreadable message does not close a round
		return false, nil
	}
	r.Time = closed.Now
	if p.to.Before(r) {
		return true, nil
	}
	if p.first == 0 && p.from.After(r) {
		p.opened, p.above = r.Sequence, closed.Commands
		return false, nil
	}
	if p.first == 0 {
		p.first = p.opened + 1
	}
	p.last, p.upTo = r.Sequence, closed.Commands
	return false, nil
}

// commandsOf returns the commands above one sequence and up to another, as far as the bus still has them.
func commandsOf(ctx context.Context, b bus.Bus, above, upTo uint64) ([]capsule.Message, error) {
	kept := []capsule.Message{}
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	state, err := b.State(call, bus.Commands)
	if err != nil {
		return kept, err
	}
	upTo = min(upTo, state.Last)
	if first := max(above+1, state.First); first > upTo || state.Last == 0 {
		return kept, nil
	}
	reader, err := b.Read(ctx, bus.Commands, above+1)
	if err != nil {
		return kept, err
	}
	defer reader.Stop()
	silence := time.NewTimer(busTimeout)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return kept, ctx.Err()
		case <-silence.C:
			return kept, goneSince(ctx, b, upTo)
		case m, ok := <-reader.Messages():
			if !ok {
				return kept, errors.New("lost the subscription to the commands: run this again")
			}
			silence.Reset(busTimeout)
			if m.Sequence <= upTo {
				kept = append(kept, capsule.Keep(m))
			}
			if m.Sequence >= upTo {
				return kept, nil
			}
		}
	}
}

// goneSince returns an error unless the bus has deleted the commands up to a sequence since the read began.
func goneSince(ctx context.Context, b bus.Bus, upTo uint64) error {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	switch state, err := b.State(call, bus.Commands); {
	case err != nil:
		return err
	case state.First <= upTo:
		return errors.New("the bus stopped delivering commands: run this again")
	}
	return nil
}
