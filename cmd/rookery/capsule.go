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

// capsuling writes what a cluster has recorded into a file.
type capsuling struct {
	link     *link
	from, to string
	file     string
}

func capsuleCommand(l *link) *cobra.Command {
	c := &capsuling{link: l}
	cmd := &cobra.Command{
		Use:   "capsule [--from PLACE] [--to PLACE] --out FILE",
		Short: "Write a part of the log into a file that reproduces it: a bug report",
		Long: `Write a part of the log into a file that needs nothing else: the log up to the end of the part, with all headers (what is
before the part gives the state at its beginning), the commands that the part answers, as far as the bus still has them, and
the version of this program. It is JSON, and equal for equal parts.

simulation -capsule FILE folds the log with its hash chain, and decides each round of the part once more: every command that
is there, and the node of every instance. It says where the first difference is.

A capsule holds specs as people sent them, with their environment and arguments, names of nodes and addresses: look at it
before you give it away. Values of secrets are not in it, as they are neither in the log nor in commands.

At most 500,000 messages and 256 MiB are written. A place is
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
	f.StringVar(&c.from, "from", "", "first `place` of the part; the beginning of the log where it is not given")
	f.StringVar(&c.to, "to", "", "last `place` of the part, as --from; the end of the log where it is not given")
	f.StringVarP(&c.file, "out", "o", "", "`file` to write; - for standard output")
	return cmd
}

func (c *capsuling) run(cmd *cobra.Command) error {
	if c.file == "" {
		return usage(cmd, errors.New("say which file to write: give --out"))
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
	fmt.Fprintf(os.Stderr, "%s has sequence %d to %d of the log and %d commands, in %d bytes; it may hold what is in specs: look before you give it away\n",
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
		return r, fmt.Errorf("the log has no whole round there: it ends at sequence %d", state.Last)
	}
	r = capsule.Recorded{From: p.first, To: p.last, Log: p.log[:p.last]}
	r.Commands, err = commandsOf(ctx, b, p.above, p.upTo)
	return r, err
}

// partOf finds the rounds of a part of the log, and keeps all messages up to its end.
type partOf struct {
	from, to whatif.Moment
	log      []capsule.Message
	opened   uint64 // where the present round begins
	// first and last are the part; above and upTo bound the commands that it answers.
	first, last, above, upTo uint64
}

// take reports whether the part is over.
func (p *partOf) take(m events.Message) (over bool, err error) {
	if len(p.log) == capsule.MaxMessages {
		return false, fmt.Errorf("a capsule has at most %d messages of the log, from the first on: choose a --to before sequence %d", capsule.MaxMessages, m.Sequence)
	}
	p.log = append(p.log, capsule.Keep(m))
	r, err := events.ParseRecord(m)
	closed, ok := r.Data.(events.RoundClosed)
	if err != nil || !ok { // what cannot be read no round closes over
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

// commandsOf returns the commands above a sequence up to another, as far as there are any still.
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
				return kept, errors.New("the commands cannot be read any more")
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

// goneSince returns an error unless the commands up to a sequence have gone since somebody began to read them.
func goneSince(ctx context.Context, b bus.Bus, upTo uint64) error {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	switch state, err := b.State(call, bus.Commands); {
	case err != nil:
		return err
	case state.First <= upTo:
		return errors.New("the commands cannot be read any more")
	}
	return nil
}
