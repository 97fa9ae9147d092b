package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func statsCommand(l *link) *cobra.Command {
	var of within
	cmd := &cobra.Command{
		Use:   "stats [NAMESPACE[/NAME]]",
		Short: "Show what instances use: CPU, memory, disk, network",
		Long: `Show what instances use, with their sidecars, as their nodes measured it last: CPU in cores, memory, disk where the spec limits it,
and network traffic since the start. A node measures its instances every 30 seconds by default. MEASURED is the age of the values. A
value that the node cannot measure is absent.`,
		Example: `  rookery stats
  rookery stats demo/web --watch
  rookery stats --sort memory
The same with the nats CLI:
  nats sub 'rookery.metric.demo.web.>'
  nats req rookery.api.service-metrics '{"namespace":"demo","name":"web"}'`,
		Args: someServices(&of),
	}
	each := &list{link: l, buckets: []string{bus.BucketInstances, bus.BucketServices}, measured: true}
	each.page = func(s *seen, now time.Time) page { return statsPage(s, of, now) }
	each.missing = func(s *seen) error { return s.missingOf(of) }
	each.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return each.run(cmd) }
	return cmd
}

// used is what an instance uses, and when its node measured it; null without a measurement.
type used struct {
	events.MetricProcess
	Measured *time.Time `json:"measured"`
}

var statsColumns = []grid.Column{
	{Head: "SERVICE"},
	{Head: "ORDINAL"},
	{Head: "NODE", Keep: grid.Useful},
	{Head: "CPU"},
	{Head: "MEMORY"},
	{Head: "DISK", Keep: grid.Detail},
	{Head: "RECEIVED", Keep: grid.Detail},
	{Head: "SENT", Keep: grid.Detail},
	{Head: "MEASURED", Keep: grid.Useful, Passing: true},
	{Head: "GENERATION", Keep: grid.Wide},
}

func statsPage(s *seen, of within, now time.Time) page {
	p := page{grid: grid.Table{Columns: statsColumns}}
	for _, v := range s.instancesOf(of) {
		u := s.usageOf(v)
		key := fmt.Sprintf("%s/%s/%d", v.Namespace, v.Name, v.Ordinal)
		p.values = append(p.values, value{key, u})
		p.grid.Rows = append(p.grid.Rows, grid.Row{Key: key, Cells: []grid.Cell{
			grid.Plain(v.Namespace + "/" + v.Name), grid.Plain(strconv.FormatUint(uint64(v.Ordinal), 10)), grid.Plain(u.Node),
			grid.Plain(coresWords(u.CPUNanoCores)), grid.Plain(bytesWords(u.MemoryBytes)), grid.Plain(bytesWords(u.DiskBytes)),
			grid.Plain(bytesWords(u.NetworkReceivedBytes)), grid.Plain(bytesWords(u.NetworkSentBytes)),
			grid.Plain(measuredWords(u, now)), grid.Plain(strconv.FormatUint(uint64(u.Generation), 10)),
		}})
	}
	return p
}

// usageOf returns what the slot's instance uses, or its successor, as their own nodes have measured it.
func (s *seen) usageOf(v views.Instance) used {
	all := []views.Instance{v}
	if v.Next != nil {
		all = append(all, *v.Next)
	}
	for _, i := range all {
		u, known := s.usage[events.MetricSubject(events.ServiceID{Namespace: i.Namespace, Name: i.Name}, i.Ordinal, i.Node)]
		if known && u.Generation == i.Generation {
			return u
		}
	}
	var none used
	none.Namespace, none.Name, none.Ordinal, none.Generation, none.Node = v.Namespace, v.Name, v.Ordinal, v.Generation, v.Node
	return none
}

func coresWords(nano *uint64) string {
	const core = 1e9
	if nano == nil {
		return ""
	}
	return fmt.Sprintf("%.3f", float64(*nano)/core)
}

func bytesWords(n *uint64) string {
	if n == nil {
		return ""
	}
	return humanize.IBytes(*n)
}

func measuredWords(u used, now time.Time) string {
	if u.Measured == nil {
		return "never"
	}
	return age(*u.Measured, now) + " ago"
}

const allMetrics = events.MetricRoot + ".>"

// hearUsage tells the last measurement of each instance, and each new one until the context ends.
func hearUsage(ctx context.Context, b *bus.JetStream, tell func(events.Message)) {
	live, err := b.Subscribe(allMetrics)
	if err != nil {
		return // because the connection is closed
	}
	defer live.Stop()
	if last, err := b.Latest(ctx, bus.Metrics, allMetrics); err == nil { // else the next measurements fill the gaps
		for _, m := range last {
			tell(m)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-live.Messages():
			tell(m)
		}
	}
}

// readUsage adds the last measurement of each instance.
func (s *seen) readUsage(ctx context.Context, b *bus.JetStream) error {
	last, err := b.Latest(ctx, bus.Metrics, allMetrics)
	if err != nil {
		return err
	}
	for _, m := range last {
		s.measure(m)
	}
	return nil
}

// measure adds the measurement of one instance. It ignores all other messages, and what a node says on the subject of another, as coordinators do.
func (s *seen) measure(m events.Message) {
	metric, a, err := events.DecodeAs[events.MetricProcess](m)
	if err == nil && m.Subject == events.MetricSubject(events.ServiceID{Namespace: metric.Namespace, Name: metric.Name}, metric.Ordinal, metric.Node) {
		s.usage[m.Subject] = used{metric, &a.Time}
	}
}
