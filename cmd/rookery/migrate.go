package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events/bus"
)

// migrating changes how streams are kept.
type migrating struct {
	asking
	replicas int
}

// migrated is what is printed: the plan, and how many of its migrations were carried out.
type migrated struct {
	Plan []bus.Migration `json:"plan"`
	Done int             `json:"done"`
}

func busMigrate(l *link) *cobra.Command {
	m := &migrating{asking: asking{link: l}}
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Change how many servers keep the streams, and their settings, after showing a plan",
		Long: `Change how many servers keep each stream, bucket and object store, after showing a plan. Migrate also changes settings that this
version of Rookery needs, in streams that an older version made. The cluster runs on meanwhile.

Without --replicas, as many servers keep everything as keep the log. So if migrate is interrupted, run it again. It ends once all servers
have all of it.

On a terminal, migrate asks before it carries out the plan; --yes skips the question. Without a terminal and --yes it changes nothing,
and exits with code 2 if the plan has changes, else 0.

Exit codes: 0 changed, or nothing to change, 1 error, 2 wrong usage, 130 Ctrl-C.`,
		Example: `  rookery bus migrate --replicas 3
  rookery bus migrate --replicas 1 --yes
  rookery bus migrate < /dev/null        the plan alone`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.run(cmd) },
	}
	m.out.flag(cmd)
	cmd.Flags().IntVar(&m.replicas, "replicas", 0, "number of NATS servers that store each stream")
	cmd.Flags().Lookup("replicas").DefValue = "as many as keep the log"
	m.yesFlag(cmd)
	return cmd
}

func (m *migrating) run(cmd *cobra.Command) error {
	if cmd.Flags().Changed("replicas") && m.replicas < 1 {
		return usage(cmd, fmt.Errorf("--replicas %d keeps nothing: want 1, 3 or 5", m.replicas))
	}
	b, done, err := m.link.open("rookery bus migrate")
	if err != nil {
		return err
	}
	defer done()
	if _, err := logState(cmd.Context(), b); err != nil {
		return err
	}
	var all migrated
	if all.Plan, err = b.Migrations(cmd.Context(), m.replicas); err != nil {
		return err
	}
	if !m.out.json() {
		err = all.print(cmd.OutOrStdout())
	}
	if err == nil && len(all.Plan) > 0 {
		err = m.carryOut(cmd, b, &all)
	}
	if m.out.json() {
		return errors.Join(err, m.out.print(cmd.OutOrStdout(), all))
	}
	return err
}

func (a *migrated) print(out io.Writer) error {
	if len(a.Plan) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is to be changed.")
		return err
	}
	rows := make([]string, len(a.Plan))
	for i, m := range a.Plan {
		rows[i] = m.Name + "\t" + strings.Join(m.Changes, "; ")
	}
	return table(out, "STREAM\tCHANGE", rows)
}

func (m *migrating) carryOut(cmd *cobra.Command, b *bus.JetStream, all *migrated) error {
	if !m.yes {
		if err := agree(cmd, m.out, all.print); err != nil {
			return err
		}
	}
	for _, one := range all.Plan {
		if err := carryOne(cmd.Context(), b, one); err != nil {
			return fmt.Errorf("%d of %d changes were made: %w: run `rookery bus migrate` again", all.Done, len(all.Plan), err)
		}
		all.Done++
		if !m.out.json() {
			fmt.Fprintf(cmd.OutOrStdout(), "%s is changed\n", one.Name)
		}
	}
	return nil
}

// carryOne carries out one migration, with a line on the terminal while it lasts.
func carryOne(ctx context.Context, b *bus.JetStream, one bus.Migration) error {
	shown := false
	defer func() {
		if shown {
			fmt.Fprint(os.Stderr, "\r\x1b[K")
		}
	}()
	return b.Migrate(ctx, one, func(lag uint64) {
		if isTerminal(os.Stderr) {
			shown = true
			fmt.Fprintf(os.Stderr, "\r\x1b[K%s: the slowest server lacks %d messages", one.Name, lag)
		}
	})
}
