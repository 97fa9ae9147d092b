package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func psCommand(l *link) *cobra.Command {
	var of within
	cmd := &cobra.Command{
		Use:   "ps [NAMESPACE[/NAME]]",
		Short: "List instances: their nodes, addresses and states",
		Long: "List the instances of all services, of a namespace or of one service: where they run, at which addresses, and how they are. Below the\n" +
			"table stand the operations that are under way, with what each slot lacks.",
		Example: `  rookery ps
  rookery ps demo/web --output json
  rookery ps --watch
The same with the nats CLI:
  nats kv ls rookery_instances; nats kv get rookery_instances demo.web.0
  nats kv watch rookery_instances`,
		Args: someServices(&of),
	}
	each := &list{link: l, buckets: []string{bus.BucketInstances, bus.BucketOperations, bus.BucketServices}}
	each.page = func(s *seen, now time.Time) page { return instancesPage(s, of, now) }
	each.missing = func(s *seen) error { return s.missingOf(of) }
	each.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return each.run(cmd) }
	return cmd
}

var instanceColumns = []grid.Column{
	{Head: "SERVICE"},
	{Head: "ORDINAL"},
	{Head: "GENERATION", Keep: grid.Detail},
	{Head: "NODE", Keep: grid.Useful},
	{Head: "STATUS", Least: 24, Whole: true},
	{Head: "ADDRESSES", Keep: grid.Useful, Least: 20},
	{Head: "RESTARTS", Keep: grid.Detail},
	{Head: "REVISION", Keep: grid.Wide},
	{Head: "PHASE", Keep: grid.Wide},
	{Head: "AGE", Keep: grid.Wide, Passing: true},
}

// ordinalColumn is the index of the column ORDINAL.
const ordinalColumn = 1

func instancesPage(s *seen, of within, now time.Time) page {
	p := page{grid: grid.Table{Columns: instanceColumns}}
	all := s.instancesOf(of)
	for _, v := range all {
		p.values = append(p.values, value{fmt.Sprintf("%s/%s/%d", v.Namespace, v.Name, v.Ordinal), v})
	}
	for _, v := range all {
		p.instance(v, now)
		if v.Next != nil {
			p.instance(*v.Next, now)
			row := &p.grid.Rows[len(p.grid.Rows)-1]
			row.Key += " next"
			row.Cells[ordinalColumn].Text += " next" // because narrow screens hide generations
		}
	}
	p.notes = append(p.notes, operationNotes(s.operationsOf(of), now)...)
	return p
}

// instance adds a row and its notes.
func (p *page) instance(v views.Instance, now time.Time) {
	p.grid.Rows = append(p.grid.Rows, instanceRow(v, now))
	if v.Output != "" {
		p.notes = append(p.notes, fmt.Sprintf("%s/%s/%d printed last: %s", v.Namespace, v.Name, v.Ordinal, readOutput(v.Output)))
	}
}

func instanceRow(v views.Instance, now time.Time) grid.Row {
	revision := ""
	if v.Revision > 0 {
		revision = strconv.FormatUint(v.Revision, 10)
	}
	return grid.Row{Key: fmt.Sprintf("%s/%s/%d", v.Namespace, v.Name, v.Ordinal), Cells: []grid.Cell{
		grid.Plain(v.Namespace + "/" + v.Name), grid.Plain(strconv.FormatUint(uint64(v.Ordinal), 10)),
		grid.Plain(strconv.FormatUint(uint64(v.Generation), 10)), grid.Plain(v.Node),
		{Text: statusWords(v), Mood: statusMood(v.Status)},
		grid.Plain(addresses(v)), grid.Plain(strconv.FormatUint(uint64(v.Restarts), 10)),
		grid.Plain(revision), grid.Plain(v.Phase), grid.Plain(age(v.Times.Created, now)),
	}}
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
		said, _, _ := strings.Cut(strings.TrimPrefix(v.Message, "crash loop: "), "; last lines:") // the notes give the last lines
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
	name := ""
	cmd := &cobra.Command{
		Use:   "nodes [NODE]",
		Short: "List nodes: their states, capacity and reservations",
		Long:  "List all nodes, or one: whether they send heartbeats, and how much of their CPU and memory is set aside for instances.",
		Example: `  rookery nodes
  rookery nodes --watch
The same with the nats CLI:
  nats kv ls rookery_nodes; nats kv get rookery_nodes node-0
  nats kv watch rookery_nodes
To change a node's labels, the nodes that may get instances, or the placement policy:
  nats req rookery.cmd.node.node-0.update '{"labels":{"disk":"ssd"},"without":["old"]}'
  nats req rookery.cmd.cluster.nodes '{"allowed":["node-0","node-1"]}'
  nats req rookery.cmd.cluster.policy '{"preset":"materialize"}'`,
		Args: usageOf(cobra.MaximumNArgs(1)),
	}
	each := &list{link: l, buckets: []string{bus.BucketNodes}}
	each.page = func(s *seen, _ time.Time) page { return nodesPage(s.nodesOf(name)) }
	each.missing = func(s *seen) error { return missing("node", name, slices.Sorted(maps.Keys(s.nodes))) }
	each.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			name = args[0]
		}
		return each.run(cmd)
	}
	return cmd
}

var nodeColumns = []grid.Column{
	{Head: "NODE"},
	{Head: "STATE"},
	{Head: "ZONE", Keep: grid.Detail},
	{Head: "ADDRESS", Keep: grid.Detail},
	{Head: "INSTANCES"},
	{Head: "CPU", Keep: grid.Useful},
	{Head: "MEMORY", Keep: grid.Useful},
	{Head: "PORTS", Keep: grid.Detail},
	{Head: "ENGINE", Keep: grid.Detail, Least: 12},
	{Head: "DISK", Keep: grid.Wide},
	{Head: "EPOCH", Keep: grid.Wide},
	{Head: "LABELS", Keep: grid.Wide},
	{Head: "VERSION", Keep: grid.Wide},
}

func nodesPage(all []views.Node) page {
	p := page{grid: grid.Table{Columns: nodeColumns}}
	for _, v := range all {
		p.values = append(p.values, value{v.Name, v})
		p.grid.Rows = append(p.grid.Rows, grid.Row{Key: v.Name, Cells: []grid.Cell{
			grid.Plain(v.Name),
			{Text: string(v.State), Mood: nodeMood(v.State)},
			grid.Plain(v.Zone), grid.Plain(v.Address), grid.Plain(instanceWords(v)),
			grid.Plain(fmt.Sprintf("%s of %s", v.Reserved.CPU, v.Allocatable.CPU)), grid.Plain(gibibytes(int64(v.Reserved.Memory), int64(v.Allocatable.Memory))),
			grid.Plain(fmt.Sprintf("%d-%d", v.Ports.First, v.Ports.Last)), grid.Plain(v.Words()),
			grid.Plain(gibibytes(int64(v.Reserved.Disk), int64(v.Allocatable.Disk))), grid.Plain(strconv.FormatUint(v.Epoch, 10)),
			grid.Plain(labelWords(v.Labels)), grid.Plain(v.Program.Version),
		}})
		if v.Degraded != "" {
			p.notes = append(p.notes, fmt.Sprintf("%s is degraded: %s", v.Name, v.Degraded))
		}
	}
	return p
}

// labelWords lists labels in order.
func labelWords(labels map[string]string) string {
	words := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, name+"="+labels[name])
	}
	return strings.Join(words, ",")
}

func gibibytes(reserved, allocatable int64) string {
	const gib = 1 << 30
	return fmt.Sprintf("%.1f of %.1f GiB", float64(reserved)/gib, float64(allocatable)/gib)
}

// instanceWords counts the instances and the orphans of a node.
func instanceWords(v views.Node) string {
	if v.Orphans == 0 {
		return strconv.Itoa(v.Instances)
	}
	return fmt.Sprintf("%d and %d orphans", v.Instances, v.Orphans)
}

// logState returns the state of the log. Its error says what to do.
func logState(ctx context.Context, b *bus.JetStream) (bus.State, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout) // without an answer it does not wait as long as for a large bucket
	defer cancel()
	state, err := b.State(ctx, bus.Log)
	switch {
	case b.WrongServer(err) != "":
		return state, fmt.Errorf("%w; otherwise see `rookery doctor`", err)
	case errors.Is(err, bus.ErrNoStream):
		return state, fmt.Errorf("%w: this NATS server has no Rookery streams: run `rookery bus init`, or `rookery dev` for a whole cluster", err)
	case errors.Is(err, bus.ErrNoAnswer):
		return state, fmt.Errorf("%w: enable JetStream on the NATS server, or use `rookery dev` for a whole cluster", err)
	case err != nil && ctx.Err() == nil || errors.Is(err, bus.ErrUnknown):
		return state, fmt.Errorf("read the state of the log: %w: see `rookery doctor`", err)
	}
	return state, err
}
