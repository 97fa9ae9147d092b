package main

import (
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
)

func clusterCommand(l *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Install a cluster, or finish its upgrade",
		Long:    "Commands about a cluster as a whole. rookery version shows which versions its programs have.",
		Example: "  rookery cluster up hosts.yaml\n  rookery cluster status hosts.yaml\n  rookery cluster upgrade hosts.yaml\n  rookery cluster finish-upgrade",
	}
	cmd.AddCommand(clusterUpCommand(), clusterStatusCommand(), clusterUpgradeCommand(), finishUpgradeCommand(l))
	return cmd
}

func finishUpgradeCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := &cobra.Command{
		Use:   "finish-upgrade",
		Short: "Raise a cluster to the level of its new programs",
		Long: `Raise a cluster to the highest level at which its coordinators work. Before that, programs of a new version write nothing that the
version before cannot read, so each can be replaced by that version. After that, no older program can take part.

The coordinator rejects this while a coordinator or a node does not work at that level, and names it. A coordinator that does not run now is
not known to it. Forget nodes that are gone first.

` + exitCodes,
		Example: `  rookery version
  rookery cluster finish-upgrade
The same with the nats CLI:
  nats req rookery.cmd.cluster.finish-upgrade '{}'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.confirm(cmd, "Raise the level? No older program can take part from then on."); err != nil {
				return err
			}
			return a.publish(cmd, "cluster", nil, events.ClusterFinishUpgrade{})
		},
	}
	a.flags(cmd)
	a.yesFlag(cmd)
	return cmd
}
