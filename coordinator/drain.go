package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

const (
	// drainGrace is how long a drain may go on before its command fails: after the deadline and the time that instances have to
	// stop.
	drainGrace = 2 * time.Minute
	// mostLeft is how many instances a failed drain names.
	mostLeft = 5
)

// drain starts to empty the node. It replaces a drain with another deadline.
func (t *Turn) drain(r events.Request, n *projections.Node, c events.NodeDrain) error {
	if n.Draining() && n.Drain.Done {
		t.atOnce(r)
		return nil
	}
	t.overtake(r, n)
	t.accepted(r, []events.Data{events.NodeDraining{Until: t.Now.Add(time.Duration(c.Deadline))}})
	return nil
}

// overtake ends the command that drains the node, because another replaces it.
func (t *Turn) overtake(r events.Request, n *projections.Node) {
	if n.Holder != 0 {
		t.supersede(r, []uint64{n.Holder}, nil)
	}
}

// evacuate takes the next step of every drain that is not done. It runs once the services themselves need no decision. It
// reports whether it took a step.
func (t *Turn) evacuate() bool {
	var nodes []*projections.Node
	for _, name := range slices.Sorted(maps.Keys(t.Cluster.Nodes)) {
		if n := t.Cluster.Nodes[name]; n.Draining() && !n.Drain.Done {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return false
	}
	before, left := len(t.Records), t.instancesOn(nodes)
	for _, n := range nodes {
		if t.atNode(events.WorkReconcile, n.Name) {
			t.cause = n.Drain.Cause
			t.empty(n, left[n.Name])
		}
	}
	return len(t.Records) > before
}

// instancesOn returns the nodes' instances, by node, in the order of services and slots.
func (t *Turn) instancesOn(nodes []*projections.Node) map[string][]*projections.Instance {
	left, works := map[string][]*projections.Instance{}, t.Working
	for _, n := range nodes {
		left[n.Name] = make([]*projections.Instance, 0, n.Instances())
	}
	for _, id := range slices.SortedFunc(maps.Keys(t.Cluster.Services), events.ServiceID.Compare) {
		t.Working = events.Unit{Work: events.WorkReconcile, Scope: events.ServiceScope(id)}
		for i := range t.Cluster.Services[id].Instances() {
			if on, wanted := left[i.Node]; wanted {
				left[i.Node] = append(on, i)
			}
		}
	}
	t.Working = works
	return left
}

// empty takes the next step to remove everything from the node.
func (t *Turn) empty(n *projections.Node, left []*projections.Instance) {
	over := !t.Now.Before(n.Drain.Until)
	last := !slices.ContainsFunc(left, func(i *projections.Instance) bool { return !t.goesLast(i) })
	for _, i := range left {
		switch {
		case i.Retired() != "":
		case over:
			t.retire(i, events.RetireDrainForced)
		default:
			t.handOver(i, last)
		}
	}
	if n.Instances() > 0 || len(n.Orphans) > 0 {
		return
	}
	t.emit(events.NodeScope(n.Name), append([]events.Data{events.NodeDrained{Forced: n.Drain.Forced}}, success(n.Holder)...)...)
}

// success returns the success of a command; nothing if the command is 0.
func success(command uint64) []events.Data {
	if command == 0 {
		return nil
	}
	return []events.Data{events.CommandSucceeded{Sequence: command}}
}

// goesLast reports whether no other node can take the instance over, so that it stops last, once everything else has left its
// node. This holds for an instance of a global service, and for a slot whose volumes are on the node.
func (t *Turn) goesLast(i *projections.Instance) bool {
	s := t.Cluster.Services[i.ID.Service]
	return s.Revision != 0 && !s.Dropped && (s.Current().Spec.Global() || s.Home(i.ID.Ordinal) != "")
}

// handOver takes the next step to move the instance to another node. An operation of its service finishes first, unless it
// waits for the operator. A job runs to its end.
func (t *Turn) handOver(i *projections.Instance, last bool) {
	s := t.Cluster.Services[i.ID.Service]
	slot := s.Slots[i.ID.Ordinal]
	revision, target := movesIn(s, i), s.Target(i.ID.Ordinal)
	switch {
	case s.Dropped || s.Job != nil || s.Suspension != nil || operates(s):
	case slices.Contains(slot.Beside().Disconnected, i): // another instance replaces it already, or will
		if slot.Current != nil && t.Cluster.Serves(slot.Current) {
			t.retire(i, events.RetireDrained)
		}
	case slot.Next == i:
		if s.UpToDate(slot.Current) || i.Revision == slot.Current.Revision {
			t.retire(i, events.RetireDrained)
		}
	case t.goesLast(i):
		if last {
			t.retire(i, events.RetireDrained)
		}
	case revision == 0: // it goes with its wave
	case slot.Next != nil:
		switch {
		case t.succeeds(s, slot):
			t.retire(i, events.RetireDrained)
		case slot.Next.Revision != revision && waitsForOperator(s.Operation) && slot.Beside().NextServes.IsZero(): // the update's, not serving
			t.retire(slot.Next, events.RetireDrained)
		}
	case s.Alone(i.ID.Ordinal):
		if revision == target && t.mayStopFirst(s, i) {
			t.retire(i, events.RetireDrained)
		}
	case !t.Now.Before(retriedAt(slot)) && moving(s) < besides(s):
		t.placeBeside(s, i, revision)
	}
}

// movesIn returns the revision of the instance's successor on another node; 0 if the instance's wave replaces it. While an
// update waits for the operator, that is the instance's own revision. The exception are instances of which two cannot run at
// once, if their slot has another revision next.
func movesIn(s *projections.Service, i *projections.Instance) uint64 {
	target, spec := s.Target(i.ID.Ordinal), &s.Revisions[i.Revision].Spec
	switch {
	case waitsForOperator(s.Operation) && (i.Revision == target || (!spec.Exclusive && !spec.KeepsVolumes())):
		return i.Revision
	case s.UpToDate(i) && target == s.Revision:
		return s.Revision
	}
	return 0
}

// operates reports whether an operation that moves slots of the service is under way.
func operates(s *projections.Service) bool {
	return s.Operation != nil && (!waitsForOperator(s.Operation) || s.Operation.Kind.Together())
}

// mayStopFirst reports whether an instance that must stop before its slot gets another may stop now. A node must have room for
// the next one, and either all other slots serve, or the instance itself does not serve.
func (t *Turn) mayStopFirst(s *projections.Service, i *projections.Instance) bool {
	serves := i.Seen.Phase == events.PhaseOnline && t.Cluster.Nodes[i.Node].Live()
	return (!serves || t.othersServe(s, i.ID.Ordinal)) && t.work.board.Could(s, i.ID.Ordinal)
}

// othersServe reports whether all slots but one have an instance that serves, in any revision.
func (t *Turn) othersServe(s *projections.Service, but uint32) bool {
	for o := range s.Ordinals() {
		if o != but && (int(o) >= len(s.Slots) || s.Slots[o].Current == nil || !t.Cluster.Serves(s.Slots[o].Current)) {
			return false
		}
	}
	return true
}

// nodeDue fails the command of a drain if the node still has something long after the coordinator told everything to stop.
func (t *Turn) nodeDue(cmd *projections.Command) {
	n := t.Cluster.Nodes[cmd.Node]
	if n == nil || !n.Draining() || n.Holder != cmd.Sequence || t.Now.Before(n.Drain.Until.Add(drainGrace)) {
		return
	}
	left := t.instancesOn([]*projections.Node{n})[n.Name]
	grace := time.Duration(0)
	for _, i := range left {
		spec := t.Cluster.Services[i.ID.Service].Revisions[i.Revision].Spec
		grace = max(grace, time.Duration(spec.StopGrace+spec.DrainsFor()))
	}
	if t.Now.Before(n.Drain.Until.Add(drainGrace + grace)) {
		return
	}
	t.cause = cmd.Cause
	t.emit(events.NodeScope(n.Name), events.CommandFailed{
		Sequence: cmd.Sequence, Reason: events.ReasonDrainDeadline, Message: leftOn(n, left),
	})
}

// leftOn describes for the operator what a node still has.
func leftOn(n *projections.Node, left []*projections.Instance) string {
	var names []string
	for _, i := range left[:min(mostLeft, len(left))] {
		names = append(names, fmt.Sprintf("%s (%s)", i.ID, i.Seen.Phase))
	}
	text := fmt.Sprintf("%d instances and %d orphans are left on node %s", len(left), len(n.Orphans), n.Name)
	if len(names) > 0 {
		text += ": " + strings.Join(names, ", ")
	}
	if more := len(left) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if !n.Live() {
		text += "; the node is silent: they stop once it returns; if it is gone for good, forget it"
	}
	return text
}
