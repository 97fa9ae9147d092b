package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
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
	}
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
