package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const (
	// endsWithin is how long an adoption waits for the commands that are open.
	endsWithin = 5 * time.Minute
	// stopsWithin is how long it waits until no coordinator leads on the open bus.
	stopsWithin = 10 * time.Minute
)

func secureAdoptCommand(l *link, s *secured) *cobra.Command {
	var archive string
	cmd := &cobra.Command{
		Use:   "adopt",
		Short: "Move an open cluster to servers that know who connects",
		Long: `Move a cluster from an open bus to servers that know who connects. Make their keys with rookery secure init, and start them beside the open
ones. --server or --context names the open bus. The new one is that of the keys in --dir.

Adopt backs the cluster up into the folder adopted of the keys, and makes credentials for each of its nodes. Then the open bus takes no further
command. Once the commands that it has have ended, adopt asks you to stop the coordinators. It copies everything to the new servers, and prints
what is left to do. Containers keep running, and no acknowledged command is lost.

If a command does not end within 5 minutes, or on Ctrl-C before the coordinators have stopped, the open bus takes commands again, and nothing has
changed. Later, run adopt again: once the new servers have the cluster, it only prints what is left to do. To go back, run rookery bus migrate on the
open bus, and start the old coordinators. To move again after that, begin with empty servers.`,
		Example: `  rookery secure init nats-1=10.0.0.1 nats-2=10.0.0.2 nats-3=10.0.0.3
  rookery secure adopt --server nats://10.0.0.9:4222`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.changes(func(files secure.Files, c secure.Cluster) error {
				signers, err := files.Signers()
				if err != nil {
					return err
				}
				from, done, err := l.open("rookery secure adopt")
				if err != nil {
					return err
				}
				defer done()
				if from.User() != "" {
					return errors.New("this bus knows its users: name the open one with --server or --context")
				}
				coordinator := &link{context: filepath.Join(s.folder, secure.ContextFile(secure.Coordinator))} // it writes the log
				to, done, err := coordinator.open("rookery secure adopt")
				if err != nil {
					return err
				}
				defer done()
				m := moving{secured: s, files: files, from: from, to: to, archive: archive, told: cmd.ErrOrStderr()}
				m.restore = restoring{from: filepath.Join(s.folder, "adopted"), replicas: len(c.Servers), signers: signers}
				nodes, err := m.run(cmd.Context())
				if err != nil {
					return err
				}
				s.sayAdopted(cmd.OutOrStdout(), nodes)
				return nil
			})
		},
	}
	archiveFlag(cmd, &archive)
	return cmd
}

func (s *secured) sayAdopted(out io.Writer, nodes []string) {
	in := func(name string) string { return filepath.Join(s.folder, name) }
	fmt.Fprintln(out, "the new servers have the cluster; containers keep running")
	for _, node := range nodes {
		fmt.Fprintf(out, "1. Copy %s, %s and %s to %s, write their new paths into %s.json, and start its rookery node again with --context.\n",
			in(secure.CredsFile(node)), in(secure.ContextFile(node)), in(secure.CA), node, node)
	}
	fmt.Fprintf(out, "2. Then start the coordinators: rookery coordinator --context %s --admission %s\n",
		in(secure.ContextFile(secure.Coordinator)), in(secure.Admission))
	fmt.Fprintln(out, "3. Once all is well, stop the open servers.")
}

// moving moves a cluster from one bus to another.
type moving struct {
	*secured
	files    secure.Files
	from, to *bus.JetStream
	archive  string
	restore  restoring
	told     io.Writer
}

// run returns the nodes of the cluster, for which there are credentials then.
func (m moving) run(ctx context.Context) (nodes []string, err error) {
	f, err := m.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer f.reader.Stop()
	if nodes, err = m.credentials(f.fold.Cluster); err != nil || f.moved {
		return nodes, err
	}
	if err := m.backUp(ctx); err != nil {
		return nil, err
	}
	release, err := m.close(ctx, f)
	if err != nil && !f.copied {
		return nil, errors.Join(err, m.reopen(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, closedAdvice)
	}
	defer release()
	if nodes, err = m.copies(ctx, f); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, closedAdvice)
	}
	return nodes, nil
}

// closedAdvice says what to do once the open bus is closed for good.
const closedAdvice = "The open bus takes no commands. Run this again. Or go back: run rookery bus migrate there, and start the coordinators."

func (m moving) backUp(ctx context.Context) error {
	_, err := takeBackup(ctx, m.from, m.restore.from, m.archive)
	return err
}

// copies copies everything to the new servers. Nodes may have joined until the open bus was closed.
func (m moving) copies(ctx context.Context, f followed) (nodes []string, err error) {
	end, err := m.from.State(ctx, bus.Log)
	if err == nil {
		err = snapshots.To(ctx, f.fold, f.reader, end.Last)
	}
	if err != nil {
		return nil, err
	}
	if nodes, err = m.credentials(f.fold.Cluster); err != nil {
		return nil, err
	}
	if err := m.backUp(ctx); err != nil {
		return nil, err
	}
	_, err = m.restore.run(ctx, m.to)
	return nodes, err
}

// followed is a fold of the open bus's log, which goes on. The new servers have a copy of that log, or even all of the cluster.
type followed struct {
	fold          *projections.Fold
	reader        bus.Reader
	copied, moved bool
}

// begin folds the log, and returns an error for a cluster that cannot move, or not there. It changes nothing.
func (m moving) begin(ctx context.Context) (f followed, err error) {
	ctx, cancel := context.WithTimeout(ctx, foldTimeout)
	defer cancel()
	old, err := m.from.State(ctx, bus.Log)
	if err != nil {
		return f, err
	}
	if f.copied, f.moved, err = m.there(ctx, old); err != nil {
		return f, err
	}
	if f.fold, f.reader, err = snapshots.NewFolds(m.from, logger(), snapshots.DefaultEvery, nil).Begin(ctx, math.MaxUint64); err != nil {
		return f, err
	}
	err = snapshots.To(ctx, f.fold, f.reader, old.Last)
	if level := f.fold.Cluster.Level; err == nil && level < events.LevelSignatures {
		err = fmt.Errorf("the cluster is at level %d, and needs %d: run rookery cluster finish-upgrade on the open bus first. It rejects that while a"+
			" program is too old. Nothing was changed", level, events.LevelSignatures)
	}
	if err != nil {
		f.reader.Stop()
	}
	return f, err
}

// emptied is how to begin again on the new servers.
const emptied = "stop the new servers, delete their folders data, start them, and run this again. Nothing was changed"

// there reports whether the new servers have a copy of the log, and whether that was adopted there.
func (m moving) there(ctx context.Context, old bus.State) (copied, moved bool, err error) {
	log, err := m.to.State(ctx, bus.Log)
	switch {
	case errors.Is(err, bus.ErrNoStream):
		return false, false, refuseBesideAnother(ctx, m.to)
	case err != nil:
		return false, false, fmt.Errorf("look at the new servers: %w", err)
	case log.Identity != old.Identity:
		return false, false, errors.New("the new servers have another cluster, as rookery bus init makes: " + emptied)
	case log.Last < old.Last:
		return false, false, errors.New("the open bus has gone on since it was copied: " + emptied)
	}
	theirs, err := at(ctx, m.to, old.Last)
	if err != nil {
		return false, false, err
	}
	ours, err := at(ctx, m.from, old.Last)
	if err != nil {
		return false, false, err
	}
	if ours.Subject != theirs.Subject || !bytes.Equal(ours.Body, theirs.Body) {
		return false, false, errors.New("the open bus has gone on since it was copied: " + emptied)
	}
	fold, reader, err := snapshots.NewFolds(m.to, logger(), snapshots.DefaultEvery, m.restore.signers).Begin(ctx, math.MaxUint64)
	if err != nil {
		return false, false, err
	}
	defer reader.Stop()
	err = snapshots.To(ctx, fold, reader, log.Last)
	return true, fold.Cluster.Accounts, err
}

// at returns the message at this place of the log.
func at(ctx context.Context, b *bus.JetStream, sequence uint64) (events.Message, error) {
	reader, err := b.Read(ctx, bus.Log, sequence)
	if err != nil {
		return events.Message{}, err
	}
	defer reader.Stop()
	return snapshots.Next(ctx, reader)
}

// credentials makes those of each node that the log knows and the folder does not.
func (m moving) credentials(c *projections.Cluster) (nodes []string, err error) {
	made := secure.Files{}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		if c.Nodes[name].Forgotten {
			continue
		}
		nodes = append(nodes, name)
		switch known, err := named(m.files, name); {
		case err == nil && known.Role != secure.Node:
			return nil, fmt.Errorf("user %s is a %s, and the cluster has a node of that name: remove the user with rookery user rm", name, known.Role)
		case err == nil:
			continue
		case !errors.Is(err, errMissing):
			return nil, err
		}
		files, err := m.newUser(m.files, secure.User{Name: name, Role: secure.Node})
		if err != nil {
			return nil, err
		}
		maps.Copy(made, files)
	}
	maps.Copy(m.files, made)
	return nodes, m.write(made)
}

// close lets the open bus take nothing further, once all commands have ended and no coordinator leads there. None leads until release is called.
func (m moving) close(ctx context.Context, f followed) (release func(), err error) {
	if err := m.within(ctx, func(ctx context.Context) error { return m.from.Close(ctx, string(bus.Commands)) }); err != nil {
		return nil, err
	}
	if err := m.ended(ctx, f); err != nil {
		return nil, err
	}
	fmt.Fprintln(m.told, "Stop the coordinators of the open bus now.")
	if release, err = runner.HoldLease(ctx, m.from, processName(), stopsWithin); err != nil {
		if ctx.Err() == nil {
			err = fmt.Errorf("no coordinator may lead on the open bus, and it takes commands again: %w", err)
		}
		return nil, err
	}
	for _, name := range closes {
		if err := m.within(ctx, func(ctx context.Context) error { return m.from.Close(ctx, name) }); err != nil {
			release()
			return nil, err
		}
	}
	return release, nil
}

// closes are what is closed on the open bus.
var closes = []string{string(bus.Commands), bus.BucketConfigs, string(bus.Log)}

func (m moving) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	return do(ctx)
}

// ended waits until all stored commands are decided and have ended.
func (m moving) ended(ctx context.Context, f followed) error {
	ctx, cancel := context.WithTimeout(ctx, endsWithin)
	defer cancel()
	commands, err := m.from.State(ctx, bus.Commands)
	if err != nil {
		return err
	}
	open := func() []string {
		var all []string
		for _, sequence := range slices.Sorted(maps.Keys(f.fold.Cluster.Open())) {
			c := f.fold.Cluster.Commands[sequence]
			all = append(all, fmt.Sprintf("command %d (%s of %s)", sequence, c.Verb, c.Scope()))
		}
		if commands.Last > f.fold.Cluster.CommandCursor {
			all = append(all, fmt.Sprintf("those up to command %d, which no coordinator has decided", commands.Last))
		}
		return all
	}
	if waits := open(); len(waits) > 0 {
		fmt.Fprintln(m.told, "The open bus takes no further command. Waiting for the end of "+some(waits)+".")
	}
	for len(open()) > 0 {
		err := snapshots.To(ctx, f.fold, f.reader, f.fold.Last()+1)
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return fmt.Errorf("%s did not end within %s: promote, resume or supersede what waits for an operator, and start a coordinator if none runs. Nothing was moved", some(open()), endsWithin)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
	}
	return nil
}

// some joins the first of many.
func some(all []string) string {
	const most = 5
	text := strings.Join(all[:min(len(all), most)], ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// reopen lets the open bus take commands again.
func (m moving) reopen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), busTimeout)
	defer cancel()
	all, err := m.from.Migrations(ctx, 0)
	for _, change := range all {
		if slices.Contains(closes, change.Name) {
			err = errors.Join(err, m.from.Migrate(ctx, change, func(uint64) {}))
		}
	}
	if err != nil {
		return fmt.Errorf("the open bus takes no commands: run rookery bus migrate there: %w", err)
	}
	return nil
}
