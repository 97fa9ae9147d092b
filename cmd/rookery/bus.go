package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const busTimeout = 30 * time.Second

func busCommand(l *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bus",
		Short: "Create, check, back up and restore Rookery's streams on NATS",
		Example: `  rookery bus init
  rookery bus check
  rookery bus backup /var/backups/rookery`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(busInit(l), busCheck(l), busAdopt(l), busBackup(l), busRestore(l), busMigrate(l))
	return cmd
}

func busInit(l *link) *cobra.Command {
	var replicas int
	var out output
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create missing streams",
		Long: `Create missing streams, each with a new identity. Existing streams stay unchanged. An existing stream with a wrong setting is an
error that names the difference. Servers that have just started are given 30 seconds to find each other.`,
		Example: "  rookery bus init --replicas 3",
		Args:    arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := onceStarted(cmd, l); err != nil {
				return err
			}
			return withBus(cmd, l, func(ctx context.Context, b *bus.JetStream) error {
				if err := refuseBesideAnother(ctx, b); err != nil {
					return err
				}
				if err := b.Init(ctx, replicas); err != nil {
					return err
				}
				return report(ctx, cmd.OutOrStdout(), out, b)
			})
		},
	}
	out.flag(cmd)
	cmd.Flags().IntVar(&replicas, "replicas", 1, "number of NATS servers that store each stream")
	return cmd
}

// listensWithin is how long a NATS server that was started may take until it listens.
const listensWithin = 5 * time.Second

// onceStarted returns once a server listens and most of them have found each other: they may just have started.
func onceStarted(cmd *cobra.Command, l *link) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	again, began := time.NewTicker(time.Second), time.Now()
	defer again.Stop()
	for said := false; ; {
		err := found(ctx, l)
		silent := errors.Is(err, nats.ErrNoServers) && time.Since(began) < listensWithin
		if !silent && !errors.Is(err, bus.ErrNoQuorum) && !errors.Is(err, bus.ErrUnknown) {
			return err
		}
		if !silent && !said {
			said = true
			fmt.Fprintln(cmd.ErrOrStderr(), "waiting until most of the NATS servers have found each other")
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}

// found asks the servers once for the streams.
func found(ctx context.Context, l *link) error {
	b, done, err := l.open("rookery bus")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err = b.Check(ctx)
	return err
}

// errBeside occurs when streams would be made beside those of a cluster that runs.
var errBeside = errors.New("a coordinator answers through this server, but the JetStream of this server has no streams of Rookery")

// refuseBesideAnother returns errBeside at a leaf node with a JetStream of its own: streams there would take what is meant for those of the hub.
func refuseBesideAnother(ctx context.Context, b *bus.JetStream) error {
	findings, err := b.Check(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f bus.Finding) bool { return !f.Missing }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if m, err := b.Request(ctx, events.Message{Subject: events.APIRoot + ".state", Header: events.Header{}}); err == nil && refusal(m) == nil {
		return fmt.Errorf("%w: if it is a leaf node, connect to its hub, or to a leaf node without JetStream; if all streams were deleted,"+
			" stop the coordinators first", errBeside)
	}
	return nil // no coordinator runs, or none that knows a log
}

func withBus(cmd *cobra.Command, l *link, do func(context.Context, *bus.JetStream) error) error {
	b, done, err := l.open("rookery bus")
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	return do(ctx, b)
}

func busCheck(l *link) *cobra.Command {
	var out output
	var deep bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check every stream and its copies, and the servers",
		Long: `Check the settings and the identity of every stream, and how the NATS servers keep each stream, bucket and object store: how many
servers keep it, which one leads it, how many messages the slowest one lacks (LAG), and which ones do not answer (OFFLINE). It also shows the
version of each server that it reaches, and the oldest one that Rookery supports.

With --deep it also reads the whole log and all stored objects as each server has them, and verifies the hash chain and the digests of each
copy. It names the servers whose copy is damaged, and how to repair it.`,
		Example: `  rookery bus check
  rookery bus check --deep
  rookery bus check --output json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withBus(cmd, l, func(ctx context.Context, b *bus.JetStream) error {
				err := reportAll(ctx, cmd.OutOrStdout(), out, b)
				if err == nil {
					err = runner.CheckIdentity(ctx, b)
				}
				if !deep {
					return err
				}
				return errors.Join(err, verifyCopies(cmd.Context(), cmd.ErrOrStderr(), b))
			})
		},
	}
	out.flag(cmd)
	cmd.Flags().BoolVar(&deep, "deep", false, "also read the log and the objects as each server has them, and verify them")
	return cmd
}

// copied is something of which each of several servers has a copy.
type copied struct {
	name   string
	stream bus.Stream
	// verify reads the copy of a server and says what it has.
	verify func(ctx context.Context, server string) (string, error)
}

// allCopied returns what the deep check verifies.
func allCopied(b *bus.JetStream) []copied {
	all := []copied{{"the log", bus.Log, func(ctx context.Context, server string) (string, error) {
		fold := projections.NewFold()
		err := b.ReadCopy(ctx, bus.Log, server, func(m events.Message) error {
			_, err := fold.Take(m)
			return err
		})
		return fmt.Sprintf("%d messages", fold.Last()), err
	}}}
	for _, store := range bus.ObjectStores {
		stream := bus.ObjectStream(store)
		all = append(all, copied{string(stream), stream, func(ctx context.Context, server string) (string, error) {
			count, err := b.VerifyObjects(ctx, store, server)
			return fmt.Sprintf("%d objects", count), err
		}})
	}
	return all
}

// verifyCopies reads the log and the objects as each server has them, says so as it goes, and returns what is wrong with the copies as one error.
func verifyCopies(ctx context.Context, told io.Writer, b *bus.JetStream) error {
	state, err := b.State(ctx, bus.Log)
	if err != nil {
		return err
	}
	all := allCopied(b)
	var wrong []error
	if state.First > 1 {
		wrong = append(wrong, fmt.Errorf("the log begins at %d, as its beginning was archived: --deep verifies a whole log only", state.First))
		all = all[1:]
	}
	found := copies{servers: map[string]bool{}, damaged: map[string]bool{}, doubtful: map[string]bool{}}
	for _, c := range all {
		servers, err := b.Keepers(ctx, c.stream)
		if c.stream != bus.Log && errors.Is(err, bus.ErrNoStream) {
			continue // nothing was stored there yet
		}
		wrong = append(wrong, err, found.verify(ctx, told, c, servers))
	}
	return errors.Join(append(wrong, found.advice())...)
}

// copies is what was found out of the copies of several servers.
type copies struct {
	servers map[string]bool
	// damaged are the servers of which a copy is damaged, doubtful those of which one cannot be read.
	damaged, doubtful map[string]bool
}

// verify verifies the copies that servers have of one thing.
func (f *copies) verify(ctx context.Context, told io.Writer, c copied, servers []string) error {
	var wrong []error
	for _, server := range servers {
		f.servers[server] = true
		has, err := c.verify(ctx, server)
		switch {
		case err == nil:
			fmt.Fprintf(told, "%s: %s is whole, %s\n", server, c.name, has)
		case projections.Damaged(err) || errors.Is(err, bus.ErrDamaged):
			f.damaged[server] = true
			wrong = append(wrong, fmt.Errorf("%s has a damaged copy of %s: %w", server, c.name, err))
		default:
			f.doubtful[server] = true
			wrong = append(wrong, fmt.Errorf("%s: its copy of %s cannot be read: %w", server, c.name, err))
		}
	}
	return errors.Join(wrong...)
}

// advice says how to repair damaged copies. A server that is emptied copies everything from the others, also what is damaged there: so most
// servers must be whole in everything.
func (f *copies) advice() error {
	if len(f.damaged) == 0 {
		return nil
	}
	bad := maps.Clone(f.damaged)
	maps.Copy(bad, f.doubtful)
	if whole := len(f.servers) - len(bad); whole <= len(f.servers)/2 {
		return fmt.Errorf("%d of %d servers have a whole copy of everything: keep all, as no server can be repaired from the others", whole, len(f.servers))
	}
	return fmt.Errorf("one after the other, stop %s, empty its store folder, and start it while the other servers run: it copies"+
		" everything from them", strings.Join(slices.Sorted(maps.Keys(f.damaged)), " and "))
}

// reportAll prints the settings of the streams, and how everything is kept, and returns their problems as one error.
func reportAll(ctx context.Context, out io.Writer, how output, b *bus.JetStream) error {
	servers := b.Servers(ctx)
	kept, failed := b.Copies(ctx)
	if how.json() {
		findings, err := b.Check(ctx)
		if err != nil {
			return err
		}
		err = how.print(out, struct {
			Streams []bus.Finding `json:"streams"`
			Copies  []bus.Copies  `json:"copies"`
			Servers []bus.Server  `json:"servers"`
			Oldest  string        `json:"oldest_server"`
		}{findings, kept, servers, bus.OldestServer})
		return errors.Join(problemsOf(servers), problemsOfStreams(b, findings), problemsOf(kept), failed, err)
	}
	err := errors.Join(report(ctx, out, how, b), reportOlder(ctx, out, b), reportCopies(out, kept), reportServers(out, servers), reportRoom(ctx, out, b))
	return errors.Join(problemsOf(servers), err, problemsOf(kept), failed)
}

// reportOlder says what to do about streams and buckets that an older Rookery made.
func reportOlder(ctx context.Context, out io.Writer, b *bus.JetStream) error {
	all, err := b.Migrations(ctx, 0)
	if errors.Is(err, bus.ErrSettings) {
		return nil // report says which
	}
	if err != nil || len(all) == 0 {
		return err
	}
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	_, err = fmt.Fprintf(out, "This version keeps some otherwise; change them with `rookery bus migrate`: %s\n", strings.Join(names, ", "))
	return err
}

func reportServers(out io.Writer, servers []bus.Server) error {
	rows := make([]string, len(servers))
	for i, s := range servers {
		version := cmp.Or(s.Version, "its certificate ended on "+s.CertificateEnds.Format(time.DateOnly))
		rows[i] = fmt.Sprintf("%s\t%s\t%s", s.Name, version, bus.OldestServer)
	}
	return section(out, "SERVER\tVERSION\tOLDEST SUPPORTED", rows)
}

func reportCopies(out io.Writer, kept []bus.Copies) error {
	rows := make([]string, len(kept))
	for i, c := range kept {
		rows[i] = fmt.Sprintf("%s\t%d\t%s\t%d\t%s\t%s\t%s", c.Name, c.Replicas, c.Leader, c.Lag, strings.Join(c.Offline, ", "), c.Storage, humanize.IBytes(c.Bytes))
	}
	return section(out, "KEPT\tREPLICAS\tLEADER\tLAG\tOFFLINE\tSTORAGE\tSIZE", rows)
}

// problemsOf returns the problems of all as one error.
func problemsOf[T interface{ Err() error }](all []T) error {
	problems := make([]error, len(all))
	for i, one := range all {
		problems[i] = one.Err()
	}
	return errors.Join(problems...)
}

// report prints a line for each stream, or all streams as JSON or YAML, and returns their problems as one error.
func report(ctx context.Context, out io.Writer, how output, b *bus.JetStream) error {
	findings, err := b.Check(ctx)
	if err != nil {
		return err
	}
	var rows []string
	for _, f := range findings {
		settings := "ok"
		switch {
		case f.Missing:
			settings = "missing"
		case len(f.Differences) > 0:
			settings = strings.Join(f.Differences, "; ")
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", f.Stream, f.Identity, settings))
	}
	if how.json() {
		return errors.Join(problemsOfStreams(b, findings), how.print(out, findings))
	}
	return errors.Join(problemsOfStreams(b, findings), table(out, "STREAM\tIDENTITY\tSETTINGS", rows))
}

// problemsOfStreams is problemsOf, and says so once where another server may have the streams that are missing.
func problemsOfStreams(b *bus.JetStream, findings []bus.Finding) error {
	problems := problemsOf(findings)
	if wrong := b.WrongServer(problems); wrong != "" {
		return fmt.Errorf("%w\n%s; otherwise run `rookery bus init`", problems, wrong)
	}
	return problems
}

// reportRoom prints the size of the log, and warns if the account is near its limit.
func reportRoom(ctx context.Context, out io.Writer, b *bus.JetStream) error {
	found, room, err := roomWords(ctx, b)
	if err != nil {
		return err
	}
	if room.Scarce() {
		found += "\nWARNING: " + roomAdvice
	}
	_, err = fmt.Fprintln(out, found)
	return err
}

const roomAdvice = "a full account stops all coordinators: archive the oldest part of the log with `rookery archive`, or raise the limit"

func roomWords(ctx context.Context, b *bus.JetStream) (string, bus.Room, error) {
	size, err := b.Size(ctx, bus.Log)
	if err != nil {
		return "", bus.Room{}, err
	}
	room, err := b.Room(ctx)
	limit := "without a limit"
	if room.Most > 0 {
		limit = "of " + humanize.IBytes(room.Most)
	}
	return fmt.Sprintf("the log takes %s; the account has stored %s, %s", humanize.IBytes(size), humanize.IBytes(room.Used), limit), room, err
}

func busAdopt(l *link) *cobra.Command {
	var a admission
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Accept streams that were deleted, recreated or restored",
		Long: `Accept the streams as they are now. A coordinator stops when a stream is not the one that the log knows, because to continue
could repeat or lose commands. Find the cause first, then run adopt.

Adopt creates missing streams, with as many replicas as the log has, and records all identities in the log. The leader then
continues to read commands and statuses from a safe place. It places and stops nothing until every node has listed all its
containers. Adopt itself stops no container. Where the servers know who connects, only a
coordinator may write the log: use its context, and its keys.`,
		Example: `  rookery bus check
  rookery bus adopt
  rookery bus adopt --context ./keys/users/coordinator.json --admission ./keys/admission`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			signers, err := a.signers()
			if err != nil {
				return err
			}
			return withBus(cmd, l, func(ctx context.Context, b *bus.JetStream) error {
				if err := refuseBesideAnother(ctx, b); err != nil {
					return err
				}
				replicas, err := b.Replicas(ctx)
				if err != nil {
					return err
				}
				if err := b.Init(ctx, replicas); err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(cmd.Context(), foldTimeout)
				defer cancel()
				said, err := runner.Adopt(ctx, b, processName(), ownProgram(), signers)
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), said)
				return nil
			})
		},
	}
	a.flag(cmd, "the keys that sign rounds of the log")
	return cmd
}
