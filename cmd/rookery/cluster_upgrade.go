package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/cmd/rookery/install"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

func clusterUpgradeCommand() *cobra.Command {
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "upgrade FILE",
		Short: "Replace the programs of a cluster by those of this release, by SSH",
		Long: `Replace the programs on the hosts of a file by this program and the nats-server beside it, and start what runs there again: one part of one host
after the other. First come the servers, then the coordinators that stand by, then the one that leads, then the nodes. Containers keep running. FILE is
that of rookery cluster up.

Before each part and after it all servers must have everything that the bus stores, all coordinators must answer and one lead, and each node that was
ready must be ready. If that does not come within 3 minutes, or a part does not stay up, each host that has changed gets its earlier programs back. If the
command is interrupted, run it again: it goes on where it stopped.

To go back later, run this command of the earlier release. After rookery cluster finish-upgrade there is no way back.`,
		Example: `  rookery cluster upgrade hosts.yaml
  rookery cluster upgrade hosts.yaml --dry-run`,
		Args: arguments("FILE"),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "list what would be replaced and started again, and change nothing")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		u, err := onHosts(cmd, args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, u.close()) }()
		b, done, err := u.open()
		if err != nil {
			return err
		}
		defer done()
		up := &upgrade{upping: u, bus: b}
		steps, err := up.plan(cmd.Context())
		if err != nil {
			return err
		}
		return errors.Join(u.carryOut(cmd, steps, dryRun, yes), up.goBack(cmd.Context()))
	}
	return cmd
}

// open connects to the bus of the cluster.
func (u *upping) open() (*bus.JetStream, func(), error) {
	return (&link{context: u.operator()}).open("rookery cluster")
}

// upgrade is an upgrade of a cluster.
type upgrade struct {
	*upping
	bus *bus.JetStream
	// coordinators is how many run, and ready are the nodes that were ready at the beginning.
	coordinators int
	ready        []string
	// changes are the parts that are started again, in that order, and failed says that one of them does not work.
	changes []change
	failed  bool
}

// change is a part of a host, and the step after which it runs the new program.
type change struct {
	host clusterHost
	part string
	step install.Step
}

// plan returns the steps of the upgrade, unless it cannot begin.
func (u *upgrade) plan(ctx context.Context) ([]install.Step, error) {
	if err := u.mayTakePart(ctx); err != nil {
		return nil, err
	}
	var err error
	if u.changes, err = u.inOrder(ctx); err != nil {
		return nil, err
	}
	nodes, err := u.nodes(ctx)
	if err != nil {
		return nil, err
	}
	for name, n := range nodes {
		if n.State == projections.NodeReady {
			u.ready = append(u.ready, name)
		}
	}
	slices.Sort(u.ready)
	if err := u.well(ctx, map[string]bool{}); err != nil {
		return nil, fmt.Errorf("the cluster is not well, and an upgrade would make that worse: %w", err)
	}
	var steps []install.Step
	has := map[string]bool{}
	for _, c := range u.changes {
		if !has[c.host.Name] {
			has[c.host.Name] = true
			copies, err := u.copies(c.host)
			if err != nil {
				return nil, err
			}
			steps = append(steps, copies)
		}
		steps = append(steps, u.carefully(c))
	}
	return append(steps, u.forgetsStep()), nil
}

// mayTakePart returns an error if this program does not work at the level of the cluster.
func (u *upgrade) mayTakePart(ctx context.Context) error {
	var known versions
	if err := known.ask(ctx, u.bus); err != nil {
		return err
	}
	if own := ownProgram(); !own.Levels.Hold(known.Level) {
		return fmt.Errorf("the cluster has the level %d, and this program works at the levels %s: use a newer release", known.Level, own.Levels)
	}
	return nil
}

// inOrder returns what is started again, in that order: servers, coordinators with the one that leads as the last, and nodes.
func (u *upgrade) inOrder(ctx context.Context) (all []change, err error) {
	leader, err := runner.Leader(ctx, u.bus)
	if err != nil {
		return nil, err
	}
	var leads []change
	for _, part := range install.Parts {
		for _, h := range u.that(part) {
			runs, err := u.installed(ctx, h)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(runs, part) {
				continue // rookery cluster up installs it
			}
			c, err := u.change(h, part)
			if err != nil {
				return nil, err
			}
			if part != install.CoordinatorPart {
				all = append(all, c)
				continue
			}
			u.coordinators++
			unit, err := u.unit(ctx, h, part)
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(leader, unit.process) {
				leads = append(leads, c)
			} else {
				all = append(all, c)
			}
		}
		if part == install.CoordinatorPart {
			all = append(all, leads...)
		}
	}
	return all, nil
}

func (u *upgrade) change(h clusterHost, part string) (change, error) {
	copies, err := u.copies(h)
	if err != nil {
		return change{}, err
	}
	return change{h, part, map[string]func() install.Step{
		install.ServerPart:      func() install.Step { return u.serverStep(h, copies) },
		install.CoordinatorPart: func() install.Step { return u.coordinatorStep(h, copies) },
		install.NodePart:        func() install.Step { return u.nodeStep(h, copies) },
	}[part]()}, nil
}

// unitOf is the unit of a part of a host: how the name of its main process begins if that is a coordinator, and its state, as systemd names it.
type unitOf struct{ process, state string }

// unit asks a host for the unit of a part.
func (u *upping) unit(ctx context.Context, h clusterHost, part string) (unitOf, error) {
	const asked = `set -- $(systemctl show --property MainPID --value %[1]s) $(systemctl show --property ActiveState --value %[1]s)
named=$(sed -n 's/^name: *//p' %[2]s); echo "${named:-$(hostname)-$1-} $2"`
	told, code, err := u.told(ctx, h, fmt.Sprintf(asked, install.Unit(part), filepath.Join(install.Settings, install.CoordinatorPart+".yaml 2>/dev/null")), nil)
	if err != nil {
		return unitOf{}, err
	}
	process, state, both := strings.Cut(told, " ")
	if code != 0 || !both {
		return unitOf{}, fmt.Errorf("%s does not say how its unit is: exit code %d: %s", h.Name, code, told)
	}
	return unitOf{process, state}, nil
}

// carefully is the step of a change that begins and ends with a cluster that is well.
func (u *upgrade) carefully(c change) install.Step {
	carefully := c.step
	carefully.Make = func(ctx context.Context) error {
		if err := u.awaitWell(ctx); err != nil {
			u.failed = true
			return err
		}
		err := u.restarts(ctx, c)
		if err == nil {
			err = u.awaitWell(ctx)
		}
		u.failed = err != nil
		return err
	}
	return carefully
}

// restarts makes a change. If the process of a node is another one then, it waits until that has joined.
func (u *upgrade) restarts(ctx context.Context, c change) error {
	nodes, err := u.nodes(ctx)
	if err != nil {
		return err
	}
	before, err := u.unit(ctx, c.host, c.part)
	if err != nil {
		return err
	}
	if err := c.step.Make(ctx); err != nil {
		return err
	}
	now, err := u.unit(ctx, c.host, c.part)
	if err != nil || now.process == before.process || c.part != install.NodePart {
		return err
	}
	return await(ctx, func(ctx context.Context) error { return u.hasJoined(ctx, c.host.Name, nodes[c.host.Name].Epoch) })
}

// awaitWell waits until the cluster is well.
func (u *upgrade) awaitWell(ctx context.Context) error {
	level := map[string]bool{}
	return await(ctx, func(ctx context.Context) error { return u.well(ctx, level) })
}

// well returns an error unless all servers have everything, coordinators answer and one leads, and nodes are ready. Level are the streams and buckets
// that all servers had at once since it was made, and gets those that they have now.
func (u *upgrade) well(ctx context.Context, level map[string]bool) error {
	ctx, cancel := context.WithTimeout(ctx, tellsWithin)
	defer cancel()
	kept, err := u.bus.Copies(ctx)
	wrong := []error{err}
	for _, c := range kept {
		if level[c.Name] = level[c.Name] || c.Lag == 0; !level[c.Name] {
			wrong = append(wrong, fmt.Errorf("%s: a server lacks %d messages of it", c.Name, c.Lag))
		}
		wrong = append(wrong, c.Err())
	}
	wrong = append(wrong, u.led(ctx))
	nodes, err := u.nodes(ctx)
	for _, name := range u.ready {
		if n := nodes[name]; err == nil && n.State != projections.NodeReady {
			wrong = append(wrong, fmt.Errorf("the node %s is %s: %s", name, n.State, n.Degraded))
		}
	}
	return errors.Join(append(wrong, err)...)
}

// led returns an error unless as many coordinators as before answer, and one of them leads.
func (u *upgrade) led(ctx context.Context) error {
	all, err := u.bus.Coordinators(ctx)
	if err == nil && len(all) < u.coordinators {
		err = fmt.Errorf("%d of %d coordinators answer", len(all), u.coordinators)
	}
	if err != nil {
		return err
	}
	leader, err := runner.Leader(ctx, u.bus)
	if err == nil && !slices.ContainsFunc(all, func(c bus.Coordinator) bool { return c.Name == leader }) {
		err = errors.New("no coordinator leads")
	}
	return err
}

// nodes returns the nodes of the cluster by name.
func (u *upgrade) nodes(ctx context.Context) (map[string]views.Node, error) {
	all, err := readList[views.Node](ctx, u.bus, bus.BucketNodes, api.ListQuestion{})
	named := map[string]views.Node{}
	for _, n := range all {
		named[n.Name] = n
	}
	return named, err
}

// hasJoined returns an error if a node has not joined since an epoch.
func (u *upgrade) hasJoined(ctx context.Context, name string, since uint64) error {
	nodes, err := u.nodes(ctx)
	if err == nil && nodes[name].Epoch <= since {
		err = fmt.Errorf("the new process of the node %s has not joined", name)
	}
	return err
}

// goBack gives each host its earlier programs back if the new ones do not work, and starts what runs new ones again: the last change first.
func (u *upgrade) goBack(ctx context.Context) error {
	if !u.failed || ctx.Err() != nil {
		return nil
	}
	if len(u.packaged) > 0 {
		return fmt.Errorf("install the earlier packages on %s, and run this again", strings.Join(slices.Sorted(maps.Keys(u.packaged)), ", "))
	}
	fmt.Fprintln(u.out, "The new programs do not work: each host gets its earlier ones back")
	const then = "repair that, and run rookery cluster upgrade of the earlier release"
	for _, h := range u.Hosts {
		if err := u.does(ctx, h, restore(), nil); err != nil {
			return fmt.Errorf("give %s its earlier programs back: %w: %s", h.Name, err, then)
		}
	}
	for _, c := range slices.Backward(u.changes) {
		err := c.step.Make(ctx)
		if err == nil {
			err = u.awaitWell(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: with the earlier programs: %w: %s", c.step.Name, err, then)
		}
		fmt.Fprintf(u.out, "%-8s %s, as before\n", "now", c.step.Name)
	}
	return errors.New("each host runs its earlier programs again")
}

// restore is a line of a shell after which a host has its earlier programs again.
func restore() string {
	var all strings.Builder
	for _, at := range []string{install.Own, install.OwnServer} {
		fmt.Fprintf(&all, "if test -e %[1]s%[2]s; then mv %[1]s%[2]s %[1]s; fi; ", at, replaced)
	}
	return "set -e; " + all.String()
}

// forgetsStep is the step after which no host keeps its earlier programs.
func (u *upgrade) forgetsStep() install.Step {
	olds := install.Own + replaced + " " + install.OwnServer + replaced
	var keeps map[string]clusterHost
	return install.Step{
		Name: "no host keeps its earlier programs",
		Has: func(ctx context.Context) (bool, error) {
			keeps = map[string]clusterHost{}
			for _, h := range u.Hosts {
				_, code, err := u.told(ctx, h, "ls "+olds+" 2>/dev/null | grep -q .", nil)
				if err != nil {
					return false, err
				}
				if code == 0 {
					keeps[h.Name] = h
				}
			}
			return len(keeps) == 0, nil
		},
		Make: func(ctx context.Context) error {
			for _, name := range slices.Sorted(maps.Keys(keeps)) {
				if err := u.does(ctx, keeps[name], "rm -f "+olds, nil); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
