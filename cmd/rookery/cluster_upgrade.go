package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
that of rookery cluster up. A host with a package keeps its programs: what still runs an earlier version is started again there.

Before each part and after it all servers must have everything that the bus stores, all coordinators must answer and one lead, and each node that was
ready must be ready. If that does not come within 3 minutes, or a part does not stay up, each host gets its earlier programs back. If the command is
interrupted, run it again: it goes on where it stopped.

To go back later, run this command of the earlier release. After rookery cluster finish-upgrade older programs cannot take part.`,
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
		if agreed, err := agreed(cmd, steps, dryRun, yes); err != nil || !agreed {
			return err
		}
		if err := carryOut(cmd, steps, false); err != nil {
			return errors.Join(err, up.goBack(cmd.Context()))
		}
		return nil
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
	// changes are the parts that are started again, in that order.
	changes []change
	// begun says that an upgrade was interrupted before: what it has begun may not work.
	begun bool
}

// change is a part of a host, and the step after which it runs the program that the host has.
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
	kept, err := u.keepEarlier(ctx)
	if err != nil {
		return nil, err
	}
	u.begun = len(kept) > 0
	if u.changes, err = u.inOrder(ctx); err != nil {
		return nil, err
	}
	if !u.begun {
		if err := u.begins(ctx); err != nil {
			return nil, fmt.Errorf("the cluster is not well, and an upgrade would make that worse: %w", err)
		}
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

// begins notes which nodes are ready, and returns an error unless the cluster is well.
func (u *upgrade) begins(ctx context.Context) error {
	const within = 15 * time.Second // of which a busy bus needs some
	nodes, err := u.nodes(ctx)
	if err != nil {
		return err
	}
	for name, n := range nodes {
		if n.State == projections.NodeReady {
			u.ready = append(u.ready, name)
		}
	}
	slices.Sort(u.ready)
	level := map[string]bool{}
	return await(ctx, within, func(ctx context.Context) error { return u.well(ctx, level) })
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
			if unit.runs(leader) {
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
	step := map[string]func(clusterHost, install.Step) install.Step{
		install.ServerPart: u.lonelyStep, install.CoordinatorPart: u.coordinatorStep, install.NodePart: u.joinedStep,
	}[part](h, copies)
	return change{h, part, step}, nil
}

// unitOf is the unit of a part of a host, as systemd sees it.
type unitOf struct {
	// pid is that of its main process, and state its state, as in "active".
	pid, state string
	// named is the name of the coordinator that it runs; with a "-" at its end, how that name begins.
	named string
}

// runs reports whether the unit runs the coordinator of this name.
func (u unitOf) runs(coordinator string) bool {
	return coordinator == u.named || (strings.HasSuffix(u.named, "-") && strings.HasPrefix(coordinator, u.named))
}

// unit asks a host for the unit of a part.
func (u *upping) unit(ctx context.Context, h clusterHost, part string) (unitOf, error) {
	const asked = `systemctl show --property MainPID --value %[1]s; systemctl show --property ActiveState --value %[1]s
uname -n; sed -n 's/^name: *//p' %[2]s 2>/dev/null || true`
	told, code, err := u.told(ctx, h, fmt.Sprintf(asked, install.Unit(part), filepath.Join(install.Settings, install.CoordinatorPart+".yaml")), nil)
	if err != nil {
		return unitOf{}, err
	}
	facts := strings.Split(told, "\n")
	const pid, state, host, name = 0, 1, 2, 3
	if code != 0 || len(facts) <= host {
		return unitOf{}, fmt.Errorf("%s does not say how its unit is: exit code %d: %s", h.Name, code, told)
	}
	unit := unitOf{facts[pid], facts[state], facts[host] + "-" + facts[pid] + "-"}
	if len(facts) > name {
		unit.named = strings.Trim(facts[name], `"'`)
	}
	return unit, nil
}

// carefully is the step of a change that begins and ends with a cluster that is well.
func (u *upgrade) carefully(c change) install.Step {
	carefully := c.step
	carefully.Make = func(ctx context.Context) error {
		if err := u.awaitWell(ctx); err != nil && !u.begun {
			return err
		}
		u.begun = false // what was begun before is awaited once
		if _, err := u.restarts(ctx, c); err != nil {
			return err
		}
		return u.awaitWell(ctx)
	}
	return carefully
}

// restarts makes a change, and reports whether the part has another process then. It waits until a node has joined with that.
func (u *upgrade) restarts(ctx context.Context, c change) (bool, error) {
	var nodes map[string]views.Node
	var unknown error
	if c.part == install.NodePart {
		nodes, unknown = u.nodes(ctx)
	}
	before, err := u.unit(ctx, c.host, c.part)
	if err != nil {
		return false, err
	}
	if err := c.step.Make(ctx); err != nil {
		return false, err
	}
	now, err := u.unit(ctx, c.host, c.part)
	if err != nil || now.pid == before.pid || c.part != install.NodePart {
		return now.pid != before.pid, err
	}
	if unknown != nil {
		return true, unknown
	}
	since := nodes[c.host.Name].Epoch
	return true, await(ctx, settlesWithin, func(ctx context.Context) error { return u.hasJoined(ctx, c.host.Name, since) })
}

// awaitWell waits until the cluster is well.
func (u *upgrade) awaitWell(ctx context.Context) error {
	level := map[string]bool{}
	return await(ctx, settlesWithin, func(ctx context.Context) error { return u.well(ctx, level) })
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

// goBack gives each host its earlier programs back, and starts what runs new ones again, the last change first. It does as much of that as it can.
func (u *upgrade) goBack(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil // the operator has interrupted it
	}
	fmt.Fprintln(u.out, "The upgrade did not succeed: each host gets its earlier programs back")
	var errs []error
	for _, h := range u.Hosts {
		if err := u.restores(ctx, h); err != nil {
			errs = append(errs, fmt.Errorf("give %s its earlier programs back: %w", h.Name, err))
		}
	}
	for _, c := range slices.Backward(u.changes) {
		restarted, err := u.restarts(ctx, c)
		if err == nil && restarted {
			err = u.awaitWell(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s, with its earlier programs: %w", c.step.Name, err))
		}
	}
	if len(errs) == 0 {
		errs = append(errs, u.awaitWell(ctx))
	}
	for _, name := range slices.Sorted(maps.Keys(u.packaged)) {
		errs = append(errs, fmt.Errorf("%s has a package: install the earlier one there", name))
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, errors.New("repair that, and run rookery cluster upgrade of the earlier release"))
	}
	return errors.New("each host runs its earlier programs again")
}

// restores gives a host the programs back that those of this release have replaced.
func (u *upgrade) restores(ctx context.Context, h clusterHost) error {
	if u.packaged[h.Name] {
		return nil
	}
	now, err := u.programs(h)
	if err != nil {
		return err
	}
	line := "set -e; "
	for _, at := range slices.Sorted(maps.Keys(now)) {
		line += fmt.Sprintf("if test -e %[1]s%[2]s && echo '%[3]s%[1]s' | sha256sum --check --status; then mv %[1]s%[2]s %[1]s; fi; ", at, replaced, now[at].sum)
	}
	return u.does(ctx, h, line, nil)
}

// earlierPrograms are those that a host keeps while an upgrade goes on.
const earlierPrograms = install.Own + replaced + " " + install.OwnServer + replaced

// keepEarlier returns the hosts that keep their earlier programs.
func (u *upgrade) keepEarlier(ctx context.Context) (all []clusterHost, err error) {
	for _, h := range u.Hosts {
		told, _, err := u.told(ctx, h, "ls "+earlierPrograms+" 2>/dev/null", nil)
		if err != nil {
			return nil, err
		}
		if told != "" {
			all = append(all, h)
		}
	}
	return all, nil
}

// forgetsStep is the step after which no host keeps its earlier programs.
func (u *upgrade) forgetsStep() install.Step {
	return install.Step{
		Name: "no host keeps its earlier programs",
		Has: func(ctx context.Context) (bool, error) {
			kept, err := u.keepEarlier(ctx)
			return len(kept) == 0, err
		},
		Make: func(ctx context.Context) error {
			kept, err := u.keepEarlier(ctx)
			for _, h := range kept {
				err = errors.Join(err, u.does(ctx, h, "rm -f "+earlierPrograms, nil))
			}
			return err
		},
	}
}
