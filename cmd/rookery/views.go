package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func psCommand(l *link) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "ps [NAMESPACE/NAME]",
		Short: "List instances: where they run, at which addresses, how they are",
		Example: `  rookery ps
  rookery ps demo/web --output json
The same with the nats CLI:
  nats kv ls rookery_instances; nats kv get rookery_instances demo.web.0
  nats kv get rookery_operations demo.web`,
		Args: cobra.MaximumNArgs(1),
	}
	out.flag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		all, err := readView[views.Instance](cmd, l, bus.BucketInstances)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(i views.Instance) bool {
			return len(args) == 1 && args[0] != i.Namespace+"/"+i.Name
		})
		slices.SortFunc(all, func(a, b views.Instance) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), cmp.Compare(a.Ordinal, b.Ordinal))
		})
		if out.json() {
			return printJSON(cmd.OutOrStdout(), all)
		}
		all = withNext(all)
		rows := make([]string, len(all))
		for i, v := range all {
			rows[i] = fmt.Sprintf("%s/%s\t%d\t%d\t%s\t%s\t%s\t%d", v.Namespace, v.Name, v.Ordinal, v.Generation, v.Node,
				statusWords(v), addresses(v), v.Restarts)
		}
		if err := table(cmd.OutOrStdout(), "SERVICE\tORDINAL\tGENERATION\tNODE\tSTATUS\tADDRESSES\tRESTARTS", rows); err != nil {
			return err
		}
		if err := printOutputs(cmd.OutOrStdout(), all); err != nil {
			return err
		}
		return printOperations(cmd, l, args)
	}
	return cmd
}

// withNext has what takes an instance's place follow it.
func withNext(all []views.Instance) []views.Instance {
	var each []views.Instance
	for _, v := range all {
		each = append(each, v)
		if v.Next != nil {
			each = append(each, *v.Next)
		}
	}
	return each
}

// printOutputs says below the table where what failed containers have printed is read.
func printOutputs(out io.Writer, all []views.Instance) error {
	for _, v := range all {
		if v.Output == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "%s/%s/%d printed last: %s\n", v.Namespace, v.Name, v.Ordinal, readOutput(v.Output)); err != nil {
			return err
		}
	}
	return nil
}

func statusWords(v views.Instance) string {
	text := v.Status
	if v.Reason != "" && v.Status != "online" {
		text += " (" + string(v.Reason)
		if v.ExitCode != nil {
			text += fmt.Sprintf(" with %d", *v.ExitCode)
		}
		text += ")"
	}
	if v.Status == views.StatusCrashLooping {
		said, _, _ := strings.Cut(strings.TrimPrefix(v.Message, "crash loop: "), "; last lines:") // those are said below the table
		return views.StatusCrashLooping + " (" + said + ")"
	}
	if (v.Status == "pending" || v.Status == "lost") && v.Message != "" {
		text += " (" + v.Message + ")"
	}
	return text
}

func addresses(v views.Instance) string {
	texts := make([]string, len(v.Ports))
	for i, p := range v.Ports {
		texts[i] = fmt.Sprintf("%s=%s:%d", p.Name, v.Address, p.HostPort)
	}
	return strings.Join(texts, " ")
}

func nodesCommand(l *link) *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List nodes: whether they are heard, what is set aside of what they have",
		Example: `  rookery nodes
The same with the nats CLI:
  nats kv ls rookery_nodes; nats kv get rookery_nodes node-0`,
		Args: arguments(),
	}
	out.flag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := readView[views.Node](cmd, l, bus.BucketNodes)
		if err != nil {
			return err
		}
		slices.SortFunc(all, func(a, b views.Node) int { return strings.Compare(a.Name, b.Name) })
		if out.json() {
			return printJSON(cmd.OutOrStdout(), all)
		}
		rows := make([]string, len(all))
		for i, v := range all {
			const gib = 1 << 30
			rows[i] = fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s of %s\t%.1f of %.1f GiB\t%d-%d\t%s", v.Name, v.State, v.Zone, v.Address,
				instanceWords(v), v.Reserved.CPU, v.Allocatable.CPU, float64(v.Reserved.Memory)/gib, float64(v.Allocatable.Memory)/gib,
				v.Ports.First, v.Ports.Last, v.Words())
		}
		if err := table(cmd.OutOrStdout(), "NODE\tSTATE\tZONE\tADDRESS\tINSTANCES\tCPU\tMEMORY\tPORTS\tENGINE", rows); err != nil {
			return err
		}
		return printDegraded(cmd.OutOrStdout(), all)
	}
	return cmd
}

// printDegraded says below the table what is wrong with nodes that are degraded.
func printDegraded(out io.Writer, all []views.Node) error {
	for _, v := range all {
		if v.Degraded == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "%s is degraded: %s\n", v.Name, v.Degraded); err != nil {
			return err
		}
	}
	return nil
}

// instanceWords counts the instances of a node, and those that it should not have.
func instanceWords(v views.Node) string {
	if v.Strays == 0 {
		return strconv.Itoa(v.Instances)
	}
	return fmt.Sprintf("%d and %d strays", v.Instances, v.Strays)
}

// readView reads every value of a bucket.
func readView[T any](cmd *cobra.Command, l *link, name string) ([]T, error) {
	b, done, err := l.open("rookery")
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	if _, err := logState(ctx, b); err != nil {
		return nil, err
	}
	return readBucket[T](ctx, b, name)
}

// logState returns what the log says of itself. Its error says what to do where there is none.
func logState(ctx context.Context, b *bus.JetStream) (bus.State, error) {
	state, err := b.State(ctx, bus.Log)
	if err != nil {
		return state, fmt.Errorf("%w: this NATS has no Rookery: run `rookery bus init`, or `rookery dev` for a whole one", err)
	}
	return state, nil
}

func readBucket[T any](ctx context.Context, b *bus.JetStream, name string) ([]T, error) {
	bucket, err := b.Bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	entries, err := bucket.All(ctx)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(entries))
	for i, e := range entries {
		if err := json.Unmarshal(e.Value, &values[i]); err != nil {
			return nil, fmt.Errorf("the value of %s in %s does not read: %w", e.Key, name, err)
		}
	}
	return values, nil
}
