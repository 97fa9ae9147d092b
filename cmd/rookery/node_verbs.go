package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// nodeVerbs are the commands to a node, which can run on any host.
func nodeVerbs(l *link) []*cobra.Command {
	return []*cobra.Command{
		nodeVerb(l, cobra.Command{
			Use:   "pause NODE",
			Short: "Place no new instances on a node",
			Long: "Place no new instances on a node. Its instances continue to run; rookery drain moves them to other nodes.\n\n" +
				exitCodes,
			Example: `  rookery node pause node-0
The same with the nats CLI:
  nats req rookery.cmd.node.node-0.pause '{}'`,
		}, events.NodePause{}),
		nodeVerb(l, cobra.Command{
			Use:   "resume NODE",
			Short: "Place instances on a paused or drained node again",
			Long: "Place instances on a paused or drained node again, and end a drain in progress. Moved instances stay where they are.\n\n" +
				exitCodes,
			Example: `  rookery node resume node-0
The same with the nats CLI:
  nats req rookery.cmd.node.node-0.resume '{}'`,
		}, events.NodeResume{}),
		nodeLabelCommand(l),
		nodeJoinCommand(),
		nodeAdmitCommand(l),
		nodeRotateCommand(l),
		nodeRevokeCommand(l),
	}
}

func nodeAdmitCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	var key string
	cmd := &cobra.Command{
		Use:   "admit NODE --key KEY",
		Short: "Admit a node that asks to join",
		Long: `Admit a node that waits for it: its token was made with rookery token create --approve. Compare KEY with the key that rookery node join prints
on the host itself.

` + exitCodes,
		Example: `  rookery node admit edge-1 --key UDXB6VSFQFQ4SBXW2YZSPZ4DFBWKQ36K2BBYKEL2AVOBU7D2IXQGXPKC
The same with the nats CLI:
  nats req rookery.cmd.node.edge-1.admit '{"key":"UDXB6VSFQFQ4SBXW2YZSPZ4DFBWKQ36K2BBYKEL2AVOBU7D2IXQGXPKC"}'`,
		Args: arguments("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.askNode(cmd, args[0], events.NodeAdmit{Key: events.NodeKey(key)})
		},
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&key, "key", "", "public `key` of the node")
	if err := cmd.MarkFlagRequired("key"); err != nil {
		panic("no flag is named key: " + err.Error())
	}
	return cmd
}

func nodeRevokeCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	s := &secured{}
	cmd := &cobra.Command{
		Use:   "revoke NODE",
		Short: "Cut a node off, and count its instances as lost",
		Long: `Cut off a node that has joined with a token. Its instances count as lost at once, and others take their places, but for exclusive ones: those wait
until its window has passed. The NATS servers close its connection, and neither its key nor its token is admitted again. Its containers continue to
run on the host: stop them there.

A new host may join with the name then. rookery forget removes what is left of the node. If this is interrupted, run it again.

` + exitCodes,
		Example: `  rookery node revoke edge-1
The same with the nats CLI leaves the node connected:
  nats req rookery.cmd.node.edge-1.revoke '{}'`,
		Args: arguments("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.alone(func() error {
				files, err := s.read()
				if err != nil {
					return err
				}
				if err := a.askNode(cmd, args[0], events.NodeRevoke{}); err != nil {
					return err
				}
				if a.dryRun {
					return nil
				}
				keys, err := revokedKeys(cmd.Context(), l, args[0])
				if err != nil {
					return err
				}
				return s.revoke(cmd.Context(), files, secure.Nodes, args[0], keys...)
			})
		},
	}
	a.flags(cmd)
	s.flag(cmd)
	return cmd
}

// revokedKeys returns all keys of nodes of a name that was just revoked.
func revokedKeys(ctx context.Context, l *link, name string) ([]string, error) {
	b, done, err := l.open("rookery")
	if err != nil {
		return nil, err
	}
	defer done()
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	revoked, err := b.Latest(call, bus.Log, events.NodeScope(name).LogSubject(events.NodeRevoked{}.Kind()))
	if err != nil {
		return nil, err
	}
	if len(revoked) == 0 {
		return nil, fmt.Errorf("the log has no keys of node %s any more: run this again", name)
	}
	d, _, err := events.DecodeAs[events.NodeRevoked](revoked[len(revoked)-1])
	keys := make([]string, len(d.Keys))
	for i, key := range d.Keys {
		keys[i] = string(key)
	}
	return keys, err
}

// nodeVerb is the command that publishes this one to a node.
func nodeVerb(l *link, cmd cobra.Command, command events.Command) *cobra.Command {
	a := &asking{link: l}
	cmd.Args = arguments("NODE")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.askNode(cmd, args[0], command) }
	a.flags(&cmd)
	return &cmd
}

func nodeLabelCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := &cobra.Command{
		Use:   "label NODE {NAME=VALUE|NAME-}...",
		Short: "Set or remove labels of a node",
		Long: `Set labels of a node. NAME- removes a label. These labels override those of rookery node --label, also after the node restarts.
Running instances stay. The event node.misfits names the instances that no longer fit the node.

` + exitCodes,
		Example: `  rookery node label node-0 disk=ssd
  rookery node label node-0 disk=ssd old-
The same with the nats CLI:
  nats req rookery.cmd.node.node-0.update '{"labels":{"disk":"ssd"},"without":["old"]}'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(c, fmt.Errorf("label needs a node and at least one label, as in rookery node label node-0 disk=ssd"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			update := events.NodeUpdate{Labels: map[string]string{}}
			for _, text := range args[1:] {
				name, value, sets := strings.Cut(text, "=")
				removed, removes := strings.CutSuffix(text, "-")
				switch {
				case sets:
					update.Labels[name] = value
				case removes:
					update.Without = append(update.Without, removed)
				default:
					return usage(cmd, fmt.Errorf("label %q: want NAME=VALUE to set it, or %s- to remove it", text, text))
				}
			}
			return a.askNode(cmd, args[0], update)
		},
	}
	a.flags(cmd)
	return cmd
}
