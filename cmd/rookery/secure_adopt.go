package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func secureAdoptCommand(l *link, s *secured) *cobra.Command {
	return &cobra.Command{
		Use:   "adopt",
		Short: "Move an open cluster to servers that know who connects",
		Long: `Move a cluster from an open bus to servers that know who connects. Make their keys with rookery secure init and start them first, beside the open
ones. --server or --context names the open bus. The new one is that of the keys in --dir.

The open bus takes no further commands from then on. Once its coordinator has decided those that wait, everything is backed up into the folder
adopted of the keys, and restored to the new servers. Nothing that was acknowledged is lost. Containers keep running.

Then stop the old coordinators and nodes, and start them with their new contexts, as this prints. If this is interrupted, run it again. To stay
with the open bus instead, run rookery bus migrate there: it takes commands again.`,
		Example: `  rookery secure init nats-1=10.0.0.1 nats-2=10.0.0.2 nats-3=10.0.0.3
  rookery secure adopt --server nats://10.0.0.9:4222`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.alone(func() error {
				files, err := s.read()
				if err != nil {
					return err
				}
				c, err := files.Cluster()
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
				operator := &link{context: filepath.Join(s.folder, secure.ContextFile(secure.Operator))}
				to, done, err := operator.open("rookery secure adopt")
				if err != nil {
					return err
				}
				defer done()
				restored, err := moves(cmd.Context(), from, to, filepath.Join(s.folder, "adopted"), len(c.Servers))
				if err != nil {
					return err
				}
				out := cmd.OutOrStdout()
				if err := restored.write(out); err != nil {
					return err
				}
				fmt.Fprintf(out, "1. Stop the old coordinators, and start: rookery coordinator --context %s --admission %s\n",
					filepath.Join(s.folder, secure.ContextFile(secure.Coordinator)), filepath.Join(s.folder, secure.Admission))
				fmt.Fprintf(out, "2. For all nodes: rookery token create --approve --dir %s --context %s\n", s.folder, filepath.Join(s.folder, secure.ContextFile(secure.Operator)))
				fmt.Fprintln(out, "3. On each node: rookery node join, which says how to admit it; then stop the node, and start it with its new context")
				return nil
			})
		},
	}
}

// moves copies everything from one bus to another, once nothing more comes in and all that waits is decided.
func moves(ctx context.Context, from, to *bus.JetStream, folder string, replicas int) (revived, error) {
	if err := closes(ctx, from); err != nil {
		return revived{}, err
	}
	if _, err := takeBackup(ctx, from, folder, ""); err != nil {
		return revived{}, err
	}
	return restoring{folder, place{}, replicas}.run(ctx, to)
}

// closes makes the bus take no further command, and waits until all that it has are decided.
func closes(ctx context.Context, b *bus.JetStream) error {
	ctx, cancel := context.WithTimeoutCause(ctx, busTimeout, errors.New("no coordinator decides the commands that wait: start one, and run this again"))
	defer cancel()
	if err := b.CloseCommands(ctx); err != nil {
		return err
	}
	commands, err := b.State(ctx, bus.Commands)
	if err != nil {
		return err
	}
	look := time.NewTicker(askToJoin / 10)
	defer look.Stop()
	for {
		rounds, err := b.Latest(ctx, bus.Log, events.RoundScope.LogSubject(events.RoundClosed{}.Kind()))
		if err != nil {
			return err
		}
		if len(rounds) > 0 {
			closed, _, err := events.DecodeAs[events.RoundClosed](rounds[len(rounds)-1])
			if err != nil {
				return err
			}
			if closed.Commands >= commands.Last {
				return nil
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
