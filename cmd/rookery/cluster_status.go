package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/install"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

func clusterStatusCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use:   "status FILE",
		Short: "Show what the hosts of a cluster run, by SSH",
		Long: `Show the server, the coordinator and the node of each host of a file, with their versions, as systemd and the bus see them. FILE is that of rookery
cluster up. It exits with 1 if a host cannot be reached, or something that it should run does not work.`,
		Example: `  rookery cluster status hosts.yaml
  rookery cluster status hosts.yaml --output json`,
		Args: arguments("FILE"),
	}
	out.flag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		u, err := readHosts(cmd, args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, u.close()) }()
		known := &onBus{}
		unknown := known.ask(cmd.Context(), u)
		var all []hostStatus
		for _, h := range u.Hosts {
			all = append(all, u.status(cmd.Context(), h, known))
		}
		if out.json() {
			err = out.print(cmd.OutOrStdout(), all)
		} else {
			err = printStatus(cmd, all)
		}
		return errors.Join(err, unknown, problemsOf(all))
	}
	return cmd
}

// hostStatus is what a host of a cluster runs.
type hostStatus struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// Unreachable says why the host was not asked.
	Unreachable string `json:"unreachable,omitempty"`
	// Server, Coordinator and Node are nil where the host runs none.
	Server      *partStatus `json:"server,omitempty"`
	Coordinator *partStatus `json:"coordinator,omitempty"`
	Node        *partStatus `json:"node,omitempty"`
}

// partStatus is a part of a cluster on a host.
type partStatus struct {
	// Unit is the state of its unit, as systemd names it; "active" if it runs.
	Unit string `json:"unit"`
	// State is what the bus says of it: "serves" for a server, "leads" or "stands by" for a coordinator, and the state of a node; "" for nothing.
	State string `json:"state,omitempty"`
	// Version is that of its program, if it says so.
	Version string `json:"version,omitempty"`
}

func (p *partStatus) String() string {
	switch {
	case p == nil:
		return ""
	case p.Unit != "active" || p.State == "":
		return cmp.Or(p.Unit, "unknown")
	}
	return p.State + ", " + cmp.Or(p.Version, "of an unknown version")
}

// works reports whether its unit runs, and the bus takes it for one that works.
func (p *partStatus) works() bool {
	broken := []string{"", string(projections.NodeSilent), string(projections.NodeLost), string(projections.NodeDegraded), string(projections.NodeRevoked)}
	return p.Unit == "active" && !slices.Contains(broken, p.State)
}

// Err returns what does not work on the host.
func (h hostStatus) Err() error {
	if h.Unreachable != "" {
		return fmt.Errorf("%s: %s", h.Name, h.Unreachable)
	}
	var errs []error
	for i, p := range []*partStatus{h.Server, h.Coordinator, h.Node} {
		if p != nil && !p.works() {
			errs = append(errs, fmt.Errorf("%s: the bus says of its %s: %s, and its unit is %s: see journalctl --unit %s there", h.Name, install.Parts[i],
				cmp.Or(p.State, "nothing"), cmp.Or(p.Unit, "unknown"), install.Unit(install.Parts[i])))
		}
	}
	return errors.Join(errs...)
}

func printStatus(cmd *cobra.Command, all []hostStatus) error {
	rows := make([]string, len(all))
	for i, h := range all {
		if h.Unreachable != "" {
			rows[i] = fmt.Sprintf("%s\t%s\tunreachable\t\t", h.Name, h.Address)
			continue
		}
		rows[i] = fmt.Sprintf("%s\t%s\t%s\t%s\t%s", h.Name, h.Address, h.Server, h.Coordinator, h.Node)
	}
	return table(cmd.OutOrStdout(), "HOST\tADDRESS\tSERVER\tCOORDINATOR\tNODE", rows)
}

// onBus is what the bus says of the parts of a cluster.
type onBus struct {
	servers      []bus.Server
	coordinators []bus.Coordinator
	leader       string
	nodes        []views.Node
}

// ask asks the bus of a cluster.
func (o *onBus) ask(ctx context.Context, u *upping) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	b, done, err := u.open()
	if err != nil {
		return err
	}
	defer done()
	o.servers = b.Servers(ctx)
	if o.coordinators, err = b.Coordinators(ctx); err != nil || len(o.coordinators) == 0 {
		return err
	}
	leader, err := runner.Leader(ctx, b)
	o.leader = leader
	if err == nil {
		o.nodes, err = readList[views.Node](ctx, b, bus.BucketNodes, api.ListQuestion{})
	}
	return err
}

// status asks a host what it runs.
func (u *upping) status(ctx context.Context, h clusterHost, known *onBus) hostStatus {
	s := hostStatus{Name: h.Name, Address: h.Address}
	if err := u.reachOne(ctx, h); err != nil {
		s.Unreachable = err.Error()
		return s
	}
	for part, of := range map[string]struct {
		is    **partStatus
		onBus func(unit unitOf) (state, version string)
	}{
		install.ServerPart:      {&s.Server, func(unitOf) (string, string) { return known.server(h.Name) }},
		install.CoordinatorPart: {&s.Coordinator, known.coordinator},
		install.NodePart:        {&s.Node, func(unitOf) (string, string) { return known.node(h.Name) }},
	} {
		if !h.runs(part) {
			continue
		}
		unit, err := u.unit(ctx, h, part)
		if err != nil {
			s.Unreachable = err.Error()
			return s
		}
		state, version := of.onBus(unit)
		*of.is = &partStatus{unit.state, state, version}
	}
	return s
}

func (o *onBus) server(name string) (state, version string) {
	for _, s := range o.servers {
		if s.Name == name {
			return "serves", s.Version
		}
	}
	return "", ""
}

func (o *onBus) coordinator(unit unitOf) (state, version string) {
	i := slices.IndexFunc(o.coordinators, func(c bus.Coordinator) bool { return unit.runs(c.Name) })
	if i < 0 {
		return "", ""
	}
	if o.coordinators[i].Name == o.leader {
		return "leads", o.coordinators[i].Version
	}
	return "stands by", o.coordinators[i].Version
}

func (o *onBus) node(name string) (state, version string) {
	for _, n := range o.nodes {
		if n.Name == name {
			return string(n.State), n.Program.Version
		}
	}
	return "", ""
}
