package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

func policyCommand(l *link) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show or set the cluster's policy",
		Long: `Show or set the policy of the cluster: how placement weighs nodes, the default resources and security context of instances, and
the time after which a silent node is lost.`,
		Example: `  rookery policy get > policy.yaml
  rookery policy set --file policy.yaml`,
	}
	cmd.AddCommand(policyGetCommand(l), policySetCommand(l))
	return cmd
}

func policyGetCommand(l *link) *cobra.Command {
	out := output{}
	cmd := &cobra.Command{
		Use:   "get",
		Short: "Print the policy in force",
		Long:  "Print the policy in force with its defaults, as YAML for rookery policy set.",
		Example: `  rookery policy get
  rookery policy get --output json`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, done, err := l.open("rookery policy")
			if err != nil {
				return err
			}
			defer done()
			policy, err := policyInForce(cmd.Context(), b)
			if err != nil {
				return err
			}
			return out.printDocument(cmd.OutOrStdout(), policy)
		},
	}
	out.flag(cmd)
	return cmd
}

// policyInForce returns the last policy in the log, or the default.
func policyInForce(ctx context.Context, b *bus.JetStream) (events.Policy, error) {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	if _, err := logState(ctx, b); err != nil {
		return events.Policy{}, err
	}
	changes, err := b.Latest(ctx, bus.Log, events.ClusterScope.LogSubject(events.PolicyChanged{}.Kind()))
	if err != nil || len(changes) == 0 {
		return events.DefaultPolicy().WithDefaults(), err
	}
	changed, _, err := events.DecodeAs[events.PolicyChanged](changes[len(changes)-1])
	return changed.WithDefaults(), err
}

func policySetCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	var file string
	cmd := &cobra.Command{
		Use:   "set --file FILE",
		Short: "Set the policy of the cluster",
		Long: `Set the policy of the cluster from a file. A field that the file lacks gets its default. Running instances stay where they are;
rookery rebalance moves those that the new policy would place elsewhere.

` + exitCodes,
		Example: `  rookery policy set --file policy.yaml
  echo '{"profile":"optimize-utilization"}' | rookery policy set --file -
The same with the nats CLI:
  nats req rookery.cmd.cluster.policy '{"profile":"optimize-utilization"}'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usage(cmd, errors.New("policy set needs a file with the policy: give --file"))
			}
			body, err := readOne(cmd.InOrStdin(), file, "cluster", "policy")
			if err != nil {
				return err
			}
			policy, err := events.ParseClusterPolicy(body)
			if err != nil {
				return fmt.Errorf("read the policy in %s: %w", file, err)
			}
			return a.publish(cmd, "cluster", nil, policy)
		},
	}
	a.flags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "`file` with the policy, as YAML or JSON; - for standard input")
	return cmd
}
