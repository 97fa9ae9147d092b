package projections

import (
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/barrier"
)

// Wait is a slot for which its service's operation waits.
type Wait struct {
	Ordinal uint32
	// Instance is the instance that must be done with the phase, or must be gone; nil where there is none.
	Instance *Instance
	// Missing tells an operator what the slot lacks, and why if that is known.
	Missing string
}

// Waits returns the first slots, most of them at most, for which the service's operation waits, with what each lacks. They are the slots
// that the verdict names. In phase wait they are the slots that are bound to nodes which are not ready.
func (c *Cluster) Waits(s *Service, v barrier.Verdict, most int) []Wait {
	p := &phase{cluster: c, service: s, op: s.Operation}
	if p.op.Phase == events.OperationWait {
		return p.bound(most)
	}
	var all []Wait
	for _, slot := range v.Waits[:min(most, len(v.Waits))] {
		w := Wait{Ordinal: slot.Ordinal, Instance: p.awaited(slot.Ordinal), Missing: slot.Missing}
		if said := p.said(w); said != "" {
			w.Missing += ": " + said
		}
		all = append(all, w)
	}
	return all
}

// bound returns the slots that are bound to a node which is not ready.
func (p *phase) bound(most int) []Wait {
	var all []Wait
	for _, o := range p.op.Waiting {
		i := p.slot(o).Current
		if i == nil || p.cluster.Nodes[i.Node].Ready() || len(all) == most {
			continue
		}
		all = append(all, Wait{Ordinal: o, Instance: i, Missing: "it is bound to its node, which is " + p.cluster.Nodes[i.Node].state()})
	}
	return all
}

// awaited returns the instance of the slot that must act, or must be gone; nil where there is none.
func (p *phase) awaited(ordinal uint32) *Instance {
	slot := p.slot(ordinal)
	if p.op.Phase == events.OperationRetire {
		heard := func(i *Instance) bool { return p.cluster.Nodes[i.Node].Live() }
		if at := slices.IndexFunc(slot.Beside().Terminating, heard); at >= 0 {
			return slot.Beside().Terminating[at]
		}
		return slot.Current
	}
	for _, i := range [...]*Instance{slot.Next, slot.Current} {
		if i != nil && (p.op.Kind.Together() || p.service.UpToDate(i)) {
			return i
		}
	}
	return nil
}

// said tells an operator why the slot is not done; "" where nothing is known beyond what it lacks.
func (p *phase) said(w Wait) string {
	slot, i := p.slot(w.Ordinal), w.Instance
	switch {
	case i == nil && slot.Remains() != nil && p.service.Alone(w.Ordinal):
		return slot.Remains().ID.String() + " must be gone first"
	case i == nil && slot.Current != nil:
		return "no node has had room for another beside " + slot.Current.ID.String()
	case i == nil:
		return p.cluster.WhyPending(p.service)
	case !p.cluster.Nodes[i.Node].Live():
		return "its node is " + p.cluster.Nodes[i.Node].state()
	case p.cluster.Nodes[i.Node].Degraded != "":
		return "its node is degraded: " + p.cluster.Nodes[i.Node].Degraded
	case i.Retired() != "":
		return i.ID.String() + " has not stopped yet"
	case p.op.Phase == events.OperationRetire && p.op.Kind.Together():
		return ""
	case p.op.Phase == events.OperationRetire:
		return "no node has had room for the successor of " + i.ID.String()
	case i.Seen.Phase == events.PhaseOnline:
		return ""
	case i.Seen.Phase == events.PhaseOffline:
		return strings.TrimSpace("it is offline (" + string(i.Ended().Reason) + ") " + i.Ended().Message)
	}
	return "it is " + i.Seen.Phase.String()
}

// state tells an operator why the coordinator places nothing on the node; "ready" where it does.
func (n *Node) state() string {
	switch {
	case n.Lost:
		return "lost"
	case !n.Live():
		return "silent"
	case n.Degraded != "":
		return "degraded"
	case n.Paused:
		return "paused"
	case n.Drain != nil:
		return "drained"
	case n.NotAllowed:
		return "not on the list of allowed nodes"
	}
	return "ready"
}
