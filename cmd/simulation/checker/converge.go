package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/projections"
)

// Unlike returns how the cluster differs from what the log asks for. It returns nothing once the cluster has converged.
func (c *Checker) Unlike() []string {
	c.follow(c.log.last)
	why := slices.Concat(c.streamsUnlike(), c.commandsUnlike(), c.nodesUnlike())
	for _, id := range slices.SortedFunc(maps.Keys(c.fold.Services), events.ServiceID.Compare) {
		why = append(why, c.serviceUnlike(c.fold.Services[id])...)
	}
	if len(why) > 0 {
		return why
	}
	return slices.Concat(c.enginesUnlike(), c.ordersUnlike())
}

// streamsUnlike returns that the statuses are in another stream than the log knows, or were emptied: the leader has not noticed yet.
func (c *Checker) streamsUnlike() []string {
	known := c.fold.Streams[string(bus.Statuses)]
	state, err := c.Server.State(context.Background(), bus.Statuses)
	if err != nil || known == "" || (state.Identity == known && state.Last >= c.fold.StatusCursor) {
		return nil
	}
	return []string{fmt.Sprintf("the log knows %s as %q up to %d, and it is %q up to %d", bus.Statuses, known, c.fold.StatusCursor, state.Identity, state.Last)}
}

// commandsUnlike returns the commands that have no outcome or no end, and do not wait for an operator.
func (c *Checker) commandsUnlike() (why []string) {
	for _, sequence := range slices.Sorted(maps.Keys(c.sent)) {
		switch cmd := c.facts.commands[sequence]; {
		case cmd == nil:
			why = append(why, fmt.Sprintf("command %d has no outcome", sequence))
		case !cmd.accepted || cmd.ended:
		case c.awaitsPromotion(cmd.service), c.groupAwaitsPromotion(sequence, cmd.service):
		default:
			why = append(why, fmt.Sprintf("command %d has no end", sequence))
		}
	}
	return why
}

// awaitsPromotion reports whether the canaries of the service wait for an operator.
func (c *Checker) awaitsPromotion(id events.ServiceID) bool {
	s := c.facts.services[id]
	return s != nil && s.op != nil && !s.op.paused && s.op.phase == events.OperationPromote && !s.op.promoted
}

// groupAwaitsPromotion reports whether a group waits for an operator that is of this command, or holds the service to which the command is queued.
func (c *Checker) groupAwaitsPromotion(sequence uint64, id events.ServiceID) bool {
	for of, g := range c.facts.groups {
		if (of == sequence || g.holds(id)) && !g.ended && slices.ContainsFunc(slices.Collect(maps.Keys(g.members)), c.awaitsPromotion) {
			return true
		}
	}
	return false
}

// nodesUnlike returns the nodes that still show a fault, and the operations of the cluster that have not ended.
func (c *Checker) nodesUnlike() (why []string) {
	if c.fold.Rebalance != nil {
		why = append(why, "a rebalancing has not ended")
	}
	if c.facts.evictionsPaused {
		why = append(why, "evictions are paused")
	}
	for _, e := range c.Engines() {
		switch m, n := c.facts.nodes[e.Node], c.fold.Nodes[e.Node]; {
		case (n == nil && e.Process != "") || (n != nil && n.Incarnation != e.Process):
			why = append(why, e.Node+" runs a process that has not joined, or runs no process")
		case m == nil:
		case m.silent:
			why = append(why, e.Node+" is silent")
		case m.degraded:
			why = append(why, e.Node+" is degraded")
		case m.unlisted:
			why = append(why, e.Node+" has not listed what it has")
		case m.drains && !m.drained:
			why = append(why, e.Node+" is not drained")
		case len(m.orphans) > 0:
			why = append(why, e.Node+" has orphans")
		}
	}
	return why
}

// awaitsOperator reports whether the service's operation waits for an operator, who must resume it or promote its canaries.
func awaitsOperator(s *projections.Service) bool {
	op := s.Operation
	return op != nil && (op.Paused != "" || (op.Phase == events.OperationPromote && !op.Promoted))
}

// serviceUnlike returns how a service differs from what the log asks for: each slot must have an instance that serves, or a reason.
func (c *Checker) serviceUnlike(s *projections.Service) (why []string) {
	switch {
	case s.Dropped:
		return []string{s.ID.String() + " is dropped and not removed"}
	case s.Job != nil:
		return jobUnlike(s)
	case s.Suspended() && s.Operation == nil && s.Total() == 0:
		return nil
	case s.Suspension != nil:
		return []string{s.ID.String() + " must be suspended, but is not"}
	}
	closed := func(name string) bool { return !c.facts.takesInstances(name) }
	waits := awaitsOperator(s) ||
		(s.Operation != nil && s.Operation.Phase == events.OperationWait && slices.ContainsFunc(slices.Collect(maps.Keys(c.facts.nodes)), closed))
	if s.Operation != nil && !waits {
		why = append(why, fmt.Sprintf("%s is in phase %s", s.ID, s.Operation.Phase))
	}
	if s.Operation == nil && s.Rescales() {
		why = append(why, fmt.Sprintf("the topology of %s is %+v, and its scale %d", s.ID, *s.Topology, s.Scale))
	}
	if s.Filled() < s.Wanted() && s.Pending == nil {
		why = append(why, fmt.Sprintf("%s has %d instances of %d, and gives no reason", s.ID, s.Filled(), s.Wanted()))
	}
	for o, slot := range s.Slots {
		if at := s.RetryAt(uint32(o)); slot.Current == nil && at.After(c.Now()) {
			why = append(why, fmt.Sprintf("slot %d of %s waits until %s for its next try", o, s.ID, at.UTC().Format(time.RFC3339)))
		}
		why = append(why, slotUnlike(s, uint32(o), slot, waits)...)
	}
	return why
}

func slotUnlike(s *projections.Service, ordinal uint32, slot *projections.Slot, waits bool) (why []string) {
	for _, i := range slices.Concat(slot.Beside().Terminating, slot.Beside().Disconnected) {
		why = append(why, i.ID.String()+" is terminating or lost, and is not gone")
	}
	i := slot.Current
	switch {
	case slot.Next != nil && !waits:
		why = append(why, slot.Next.ID.String()+" has not taken over its slot")
	case slot.Next != nil && slot.Next.Seen.Phase != events.PhaseOnline && !leftAlone(s, slot.Next):
		why = append(why, fmt.Sprintf("%s is %s", slot.Next.ID, slot.Next.Seen.Phase))
	case i == nil:
	case !s.Has(ordinal):
		why = append(why, i.ID.String()+" is beyond the scale")
	case i.Lost:
		why = append(why, i.ID.String()+" is lost, and its node is back")
	case i.Seen.Phase != events.PhaseOnline && !leftAlone(s, i):
		why = append(why, fmt.Sprintf("%s is %s", i.ID, i.Seen.Phase))
	case s.Operation == nil && !s.UpToDate(i):
		why = append(why, fmt.Sprintf("%s is of revision %d", i.ID, i.Revision))
	}
	return why
}

// leftAlone reports whether the instance used up its restarts in a wave of an operation that waits for an operator.
func leftAlone(s *projections.Service, i *projections.Instance) bool {
	return i.Ended().NoRestart == events.NoRestartAttempts && awaitsOperator(s) && slices.Contains(s.Operation.Slots, i.ID.Ordinal)
}

// jobUnlike returns what is wrong with a job. It must be done or given up, wait for its schedule, or give the reason why it has no instance.
func jobUnlike(s *projections.Service) (why []string) {
	for i := range s.Instances() {
		why = append(why, i.ID.String()+" of a job is "+i.Seen.Phase.String())
	}
	if !s.Done() && !s.GivenUp() && !s.Idle() && s.Pending == nil {
		why = append(why, fmt.Sprintf("%s has %d slots of %d done, and gives no reason", s.ID, s.Completed(), s.Scale))
	}
	return why
}

// enginesUnlike returns the containers that no instance explains, and the instances without a container.
func (c *Checker) enginesUnlike() (why []string) {
	for _, e := range c.Engines() {
		if e.Preparing > 0 {
			why = append(why, fmt.Sprintf("the engine of %s is still making %d containers", e.Node, e.Preparing))
		}
		running := map[events.InstanceID]bool{}
		for _, has := range e.Containers {
			running[has.Instance] = running[has.Instance] || has.State == node.Running
			if i := c.fold.Instance(has.Instance); i == nil || i.Node != e.Node || i.Revision != has.Revision {
				why = append(why, fmt.Sprintf("%s has a container of %s, but the log has it %s", e.Node, has.Instance, c.facts.instances[has.Instance]))
			} else if c.overDisk(e.Node, has, i) {
				why = append(why, fmt.Sprintf("%s lets %s take more of the disk than it may", e.Node, has.Instance))
			}
		}
		if m := c.facts.nodes[e.Node]; m != nil {
			for id, i := range m.instances {
				if folded := c.fold.Instance(id); i.runs() && !running[id] && (folded == nil || !leftAlone(c.fold.Services[id.Service], folded)) {
					why = append(why, fmt.Sprintf("no container of %s runs on %s", id, e.Node))
				}
			}
		}
	}
	return slices.Concat(why, c.imagesUnlike())
}

// overDisk reports whether a running container takes more of the disk than it may.
func (c *Checker) overDisk(host string, has node.Container, i *projections.Instance) bool {
	if has.State != node.Running || has.Role != node.RoleMain {
		return false
	}
	used, most := c.Usage(host, has), c.Spec(i.ID.Service, i.Revision).Resources.Disk
	return (most > 0 && used.Own > most) || (i.PlacedWith().Scratch > 0 && used.Scratch > i.PlacedWith().Scratch)
}

// imagesUnlike returns the services whose instances of one revision were made from different images.
func (c *Checker) imagesUnlike() (why []string) {
	first := map[events.ServiceID]string{}
	for _, e := range c.Engines() {
		for _, has := range e.Containers {
			i, s := c.facts.instances[has.Instance], c.facts.services[has.Instance.Service]
			if i == nil || s == nil || !i.runs() || !s.current(i) {
				continue
			}
			made, before := has.Images[s.spec().Image], first[s.id]
			if made != "" && before != "" && made != before {
				why = append(why, fmt.Sprintf("%s was made from %s, and another instance of %s from %s", i.id, made, s.id, before))
			}
			first[s.id] = cmp.Or(before, made)
		}
	}
	return why
}

// ordersUnlike returns the orders that differ from those that the log asks for. It ignores templates: the coordinator fills them with what
// it knows when it writes the order.
func (c *Checker) ordersUnlike() (why []string) {
	standing, err := c.Server.Latest(context.Background(), bus.Orders, events.OrdersRoot+".>")
	if err != nil {
		return []string{err.Error()}
	}
	want := c.wantedOrders()
	for _, m := range standing {
		if m.Subject == events.OrdersEpochSubject {
			continue
		}
		_, id, has, err := events.ParseOrder(m)
		wanted, known := want[m.Subject]
		delete(want, m.Subject)
		switch {
		case err != nil:
			why = append(why, err.Error())
		case !known && has.Action != events.ActionForget:
			why = append(why, fmt.Sprintf("%s is ordered to %s, but the log has it %s", id, has.Action, c.facts.instances[id]))
		case known && !sameOrder(has, wanted):
			why = append(why, fmt.Sprintf("%s has the wrong order %s: the log asks for %s", id, written(has), written(wanted)))
		}
	}
	for _, subject := range slices.Sorted(maps.Keys(want)) {
		why = append(why, subject+" has no order")
	}
	return why
}

// wantedOrders returns the orders that the log asks for, by subject.
func (c *Checker) wantedOrders() map[string]events.Order {
	want := map[string]events.Order{}
	for _, s := range c.fold.Services {
		for i := range s.Instances() {
			want[events.OrderSubject(i.Node, i.ID)] = c.fold.Order(i)
		}
	}
	for _, n := range c.fold.Nodes {
		for id, orphan := range n.Orphans {
			want[events.OrderSubject(n.Name, id)] = c.fold.OrphanOrder(orphan)
		}
	}
	return want
}

// sameOrder reports whether both orders say the same. It ignores filled templates, and a topology that the service no longer has.
func sameOrder(has, want events.Order) bool {
	if want.Topology == nil {
		has.Topology = nil
	}
	if want.Spec != nil && want.Spec.Templated() {
		has.Spec, want.Spec = nil, nil
	}
	return written(has) == written(want)
}

func written(o events.Order) string {
	body, err := json.Marshal(o, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// silentFor is how long the cluster must decide nothing once it has converged.
const silentFor = 90 * time.Second

// SilentUntil returns the time before which nothing is due by itself.
func (c *Checker) SilentUntil() time.Time {
	const margin = 2 * time.Second
	until := c.Now().Add(silentFor)
	for _, s := range c.fold.Services {
		due := []time.Time{s.NextRun()}
		if s.Job == nil && s.Suspension == nil && s.Current().Spec.Snapshot != nil {
			due = append(due, s.Snapshots.Scheduled.Add(time.Duration(s.Current().Spec.Snapshot.Every)))
		}
		for _, at := range due {
			if !at.IsZero() && at.Add(-margin).Before(until) {
				until = at.Add(-margin)
			}
		}
	}
	return until
}
