package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// inspected is everything that is known of a service, a slot of it, or a node.
type inspected struct {
	Service   *views.Service          `json:"service,omitempty"`
	Node      *views.Node             `json:"node,omitempty"`
	Operation *views.ServiceOperation `json:"operation,omitempty"`
	Instances []views.Instance        `json:"instances"`
	// History has the last commands of the service.
	History api.History `json:"history,omitzero"`
}

func inspectCommand(l *link) *cobra.Command {
	out := output{}
	cmd := &cobra.Command{
		Use:   "inspect {NAMESPACE/NAME[/ORDINAL]|NODE}",
		Short: "Show everything known of a service, a slot or a node",
		Long: `Show everything known of a service, of one slot of it, or of a node: its spec or facts, its instances, its operation, and the last
commands of the service.`,
		Example: `  rookery inspect demo/web
  rookery inspect demo/web/2 --output json
  rookery inspect node-0`,
		Args: arguments("NAMESPACE/NAME|NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, done, err := l.open("rookery inspect")
			if err != nil {
				return err
			}
			defer done()
			i, err := inspect(cmd, b, args[0])
			if err != nil {
				return err
			}
			if out.json() {
				return out.print(cmd.OutOrStdout(), i)
			}
			return i.print(cmd.OutOrStdout(), out, time.Now())
		},
	}
	out.flag(cmd)
	return cmd
}

func inspect(cmd *cobra.Command, b *bus.JetStream, of string) (inspected, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), busTimeout)
	defer cancel()
	s, err := readSeen(ctx, b, []string{bus.BucketServices, bus.BucketInstances, bus.BucketOperations, bus.BucketNodes})
	if err != nil {
		return inspected{}, err
	}
	if !strings.Contains(of, "/") {
		if err := missing("node", of, slices.Sorted(maps.Keys(s.nodes))); err != nil {
			return inspected{}, err
		}
		node := s.nodes[of]
		i := inspected{Node: &node, Instances: s.instancesOf(within{})}
		i.Instances = slices.DeleteFunc(i.Instances, func(v views.Instance) bool { return v.Node != of && (v.Next == nil || v.Next.Node != of) })
		return i, nil
	}
	t, err := parseTarget(of)
	if err != nil {
		return inspected{}, usage(cmd, err)
	}
	if err := s.missingOf(within{t.service.Namespace, t.service.Name}); err != nil {
		return inspected{}, err
	}
	service := s.services[t.service.Namespace+"."+t.service.Name]
	i := inspected{Service: &service, Instances: s.instancesOf(within{t.service.Namespace, t.service.Name})}
	if t.ordinal >= 0 {
		i.Instances = slices.DeleteFunc(i.Instances, func(v views.Instance) bool { return int(v.Ordinal) != t.ordinal })
		if len(i.Instances) == 0 {
			return inspected{}, missingError(fmt.Sprintf("%s has no slot %d: it has %d", t.service, t.ordinal, service.Scale))
		}
	}
	if op, known := s.operations[t.service.Namespace+"."+t.service.Name]; known {
		i.Operation = &op
	}
	const last = 5
	var h api.History
	err = askPast(cmd.Context(), b, "history", api.HistoryQuestion{Service: t.service.String(), Limit: last}, &h)
	i.History = h
	return i, err
}

// print prints it for a reader: tables as lists show them, and the spec as YAML.
func (i inspected) print(w io.Writer, out output, now time.Time) error {
	s := newSeen()
	for _, v := range i.Instances {
		s.instances[fmt.Sprintf("%s.%s.%d", v.Namespace, v.Name, v.Ordinal)] = v
	}
	style := out.style(w)
	part := func(p page) { fmt.Fprintln(w, strings.Join(p.lines(style), "\n")) }
	switch {
	case i.Node != nil:
		part(nodesPage([]views.Node{*i.Node}))
		for _, name := range slices.Sorted(maps.Keys(i.Node.Labels)) {
			fmt.Fprintf(w, "label %s=%s\n", name, i.Node.Labels[name])
		}
	case i.Service != nil:
		id := events.ServiceID{Namespace: i.Service.Namespace, Name: i.Service.Name}
		s.services[id.Namespace+"."+id.Name] = *i.Service
		if i.Operation != nil {
			s.operations[id.Namespace+"."+id.Name] = *i.Operation
		}
		part(servicesPage(s, within{}, now))
	}
	if len(i.Instances) > 0 {
		fmt.Fprintln(w)
		part(instancesPage(s, within{}, now))
	}
	if i.Service == nil {
		return nil
	}
	body, err := yamlOf(documentOf(*i.Service))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s", body)
	if len(i.History.Commands) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	part(historyPage(i.History))
	return nil
}
