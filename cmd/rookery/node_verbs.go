package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

// nodeVerbs are the commands that ask something of a node that runs elsewhere.
func nodeVerbs(l *link) []*cobra.Command {
	return []*cobra.Command{
		nodeVerb(l, cobra.Command{
			Use:   "pause NODE",
			Short: "Place no new instances on a node",
			Long: "Place no new instances on a node. What runs there keeps running. rookery drain also moves it away.\n\n" +
				exitCodes,
			Example: `  rookery node pause node-0
The same with the nats CLI:
  nats req rookery.cmd.node.node-0.pause '{}'`,
		}, events.NodePause{}),
		nodeVerb(l, cobra.Command{
			Use:   "resume NODE",
			Short: "Place instances on a paused or drained node again",
			Long: "Place instances on a paused or drained node again, and end a drain that is under way. Instances that moved stay where they are.\n\n" +
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
		Long: `Set labels of a node, or remove those that end with "-". They replace labels that the node's own process gives, and stay when it
restarts. Running instances stay, and the event node.misfits names those that would not be placed there any longer.

` + exitCodes,
		Example: `  rookery node label node-0 disk=ssd
  rookery node label node-0 disk=ssd old-
The same with the nats CLI:
  nats req rookery.cmd.node.node-0.update '{"labels":{"disk":"ssd"},"without":["old"]}'`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(c, fmt.Errorf("label takes a node and one label or more, as in rookery node label node-0 disk=ssd"))
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
