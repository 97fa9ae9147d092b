package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/grid"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

func servicesCommand(l *link) *cobra.Command {
	var of within
	cmd := &cobra.Command{
		Use:     "services [NAMESPACE[/NAME]]",
		Aliases: []string{"ls"},
		Short:   "List services: their state, instances and operations",
		Long: `List services. INSTANCES counts serving instances of the current revision, and the target; for a job it counts completed slots.
OPERATION is the current operation, its phase and the slots that it waits for. AGE is the age of the oldest instance.`,
		Example: `  rookery services
  rookery services demo --output wide
  rookery services --watch
The same with the nats CLI:
  nats kv ls rookery_services; nats kv get rookery_services demo.web
  nats kv watch rookery_services
  nats req rookery.api.services '{"namespace":"demo"}'`,
		Args: someServices(&of),
	}
	each := &list{link: l, buckets: []string{bus.BucketServices, bus.BucketOperations, bus.BucketInstances}}
	each.page = func(s *seen, now time.Time) page { return servicesPage(s, of, now) }
	each.missing = func(s *seen) error { return s.missingOf(of) }
	each.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return each.run(cmd) }
	return cmd
}

var serviceColumns = []grid.Column{
	{Head: "SERVICE"},
	{Head: "STATE"},
	{Head: "REVISION", Keep: grid.Detail},
	{Head: "INSTANCES"},
	{Head: "OPERATION", Keep: grid.Useful, Least: 28, Whole: true},
	{Head: "AGE", Keep: grid.Detail, Passing: true},
	{Head: "IMAGE", Keep: grid.Wide},
	{Head: "COMMAND", Keep: grid.Wide},
	{Head: "QUEUED", Keep: grid.Wide},
	{Head: "CONFIG", Keep: grid.Wide},
	{Head: "SEQUENCE", Keep: grid.Wide},
}

func servicesPage(s *seen, of within, now time.Time) page {
	p := page{grid: grid.Table{Columns: serviceColumns}}
	since := map[events.ServiceID]time.Time{}
	for _, i := range s.instances {
		id := events.ServiceID{Namespace: i.Namespace, Name: i.Name}
		if at, known := since[id]; !i.Times.Created.IsZero() && (!known || i.Times.Created.Before(at)) {
			since[id] = i.Times.Created
		}
	}
	for _, v := range s.servicesOf(of) {
		id := events.ServiceID{Namespace: v.Namespace, Name: v.Name}
		p.values = append(p.values, value{id.String(), v})
		p.grid.Rows = append(p.grid.Rows, grid.Row{Key: id.String(), Cells: []grid.Cell{
			grid.Plain(id.String()),
			{Text: v.State, Mood: serviceMood(v.State)},
			grid.Plain(strconv.FormatUint(v.Revision, 10)),
			grid.Plain(servingWords(v)), grid.Plain(s.progress(v)), grid.Plain(age(since[id], now)), grid.Plain(v.Spec.Image),
			grid.Plain(number(v.Busy)), grid.Plain(number(uint64(len(v.Queued)))), grid.Plain(configVersion(v)), grid.Plain(number(v.Sequence)),
		}})
	}
	return p
}

// servingWords returns the number of serving instances and the target.
func servingWords(v views.Service) string {
	if v.Spec.Job == nil {
		return fmt.Sprintf("%d/%d", v.Online, v.Scale)
	}
	text := fmt.Sprintf("%d/%d done", v.Completed, v.Spec.Job.Completions)
	if v.Failed > 0 {
		text += fmt.Sprintf(", %d failed", v.Failed)
	}
	return text
}

// progress summarises the service's current operation.
func (s *seen) progress(v views.Service) string {
	if op, ok := s.operations[v.Namespace+"."+v.Name]; ok && op.Outcome == "" {
		return progressWords(op)
	}
	if v.Operation != nil { // the view of the operation has not arrived yet
		return progressWords(views.ServiceOperation{Operation: *v.Operation})
	}
	if v.Busy > 0 {
		return fmt.Sprintf("command %d", v.Busy)
	}
	return ""
}

func configVersion(v views.Service) string {
	if v.Topology == nil {
		return ""
	}
	return number(v.Topology.ConfigVersion)
}

// number formats a number, and 0 as an empty text.
func number(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}
