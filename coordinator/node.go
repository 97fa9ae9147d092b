package coordinator

import (
	"maps"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// hello makes the process that introduces itself the node of that name, under a new node epoch. It changes nothing if the
// process is the node already, or was it before.
func (t *Turn) hello(node string, program events.Program, h events.Hello) {
	if t.Cluster.CutOff(node) {
		return
	}
	epoch, before := t.Cluster.NodeEpochFloor, events.NodeFacts{}
	if n := t.Cluster.Nodes[node]; n != nil {
		if n.Incarnation == h.Incarnation || n.Was(h.Incarnation) || n.Forgotten {
			return
		}
		epoch, before = n.Epoch, n.Facts
	}
	if t.Cluster.Level < events.LevelPrograms {
		program = events.Program{}
	}
	t.emit(events.NodeScope(node), events.NodeJoined{Epoch: epoch + 1, Incarnation: h.Incarnation, NodeFacts: h.NodeFacts, Program: program})
	n := t.Cluster.Nodes[node]
	t.misfits(n, before)
	if terms := t.Cluster.OnJoin; terms != nil && n.Instances() == 0 && t.Cluster.Rebalance == nil {
		t.emit(events.ClusterScope, events.RebalanceStarted{RebalanceTerms: *terms})
	}
}

// Rejoin gives the node's process a new node epoch after an adoption, unless the node has joined since it had this one. An
// instance's position only climbs within a node epoch, and a restored log may know an instance to have come further than a node
// that has forgotten the instance and runs it again. A silent node gets its new node epoch when it returns.
func (t *Turn) Rejoin(node string, since uint64) {
	t.cause = events.Cause{}
	t.atNode(events.WorkLiveness, node)
	if n := t.Cluster.Nodes[node]; n != nil && n.Epoch == since && n.Live() && !n.Forgotten {
		t.rejoin(n)
	}
}

func (t *Turn) rejoin(n *projections.Node) {
	t.emit(events.NodeScope(n.Name), events.NodeJoined{Epoch: n.Epoch + 1, Incarnation: n.Incarnation, NodeFacts: n.Told, Program: n.Program})
}

// misfits reports the instances that placement would not put on the node now, if the node's facts have changed.
func (t *Turn) misfits(n *projections.Node, before events.NodeFacts) {
	if n.Facts.Zone == before.Zone && maps.Equal(n.Facts.Labels, before.Labels) && n.Facts.Allocatable() == before.Allocatable() {
		return
	}
	if found, some := placement.Misfits(t.Cluster, n); some {
		t.emit(events.NodeScope(n.Name), found)
	}
}

// Silent records that a node sent no heartbeat for too long. It does so even while the coordinator leaves the node's further
// runJob alone.
func (t *Turn) Silent(node string) {
	t.cause = events.Cause{}
	t.atNode(events.WorkLiveness, node)
	if n := t.Cluster.Nodes[node]; n != nil && !n.Silent {
		t.emit(events.NodeScope(node), events.NodeSilent{})
	}
}

// Returned records that a silent node sends heartbeats again. It does so under the same conditions as Silent.
func (t *Turn) Returned(node string) {
	t.cause = events.Cause{}
	t.atNode(events.WorkLiveness, node)
	if n := t.Cluster.Nodes[node]; n != nil && n.Silent && !n.Forgotten && !n.Revoked {
		t.emit(events.NodeScope(node), events.NodeReturned{})
		if n.SilentSince.Before(t.Cluster.AdoptedAt) {
			t.rejoin(n)
		}
	}
}

// engine takes what a node reports about its engine, if the report is newer than the known one and differs from it.
func (t *Turn) engine(n *projections.Node, s events.EngineStatus) {
	switch {
	case s.Epoch != n.Epoch || s.Counter <= n.EngineCounter:
	case n.Degraded == "" && s.Degraded != "":
		t.emit(events.NodeScope(n.Name), events.NodeDegraded{Epoch: s.Epoch, Counter: s.Counter, Message: s.Degraded})
	case n.Degraded != "" && s.Degraded == "":
		t.emit(events.NodeScope(n.Name), events.NodeRecovered{Epoch: s.Epoch, Counter: s.Counter})
	}
}

// contradiction returns why an instance that a node has is an orphan.
func (t *Turn) contradiction(s events.InstanceState) events.StrayReason {
	service := t.Cluster.Services[s.ID().Service]
	switch {
	case service == nil || service.Revision == 0:
		return events.StrayUnknownService
	case t.Cluster.Instance(s.ID()) != nil:
		return events.StrayOtherNode
	case !service.Has(s.Ordinal) && int(s.Ordinal) >= len(service.Slots):
		return events.StrayUnknownSlot
	case s.Generation >= service.NextGeneration(s.Ordinal):
		return events.StrayNewerGeneration
	}
	return events.StrayOlderGeneration
}

// orphan answers a listed instance that the state does not have on this node, an orphan. The orphan is shown and told to stop,
// and changes nothing else.
func (t *Turn) orphan(n *projections.Node, s events.InstanceState) {
	id := s.ID()
	_, known := n.Orphans[id]
	found := events.StrayFound{Namespace: s.Namespace, Name: s.Name, Ordinal: s.Ordinal, Generation: s.Generation}
	switch {
	case known && s.Phase == events.PhaseRemoved:
		t.emit(events.NodeScope(n.Name), events.StrayRemoved{StrayFound: found})
	case !known && s.Phase != events.PhaseRemoved:
		found.Why = t.contradiction(s)
		t.emit(events.NodeScope(n.Name), found)
	}
}

// adopts reports whether the listed instance fills a slot for which the log knows no instance. The log is then older than the
// instance, as after a restore, and it would be wrong to stop an instance that should run.
func adopts(c *projections.Cluster, n *projections.Node, s events.InstanceState) bool {
	service := c.Services[s.ID().Service]
	return (c.Recovering || n.Unlisted) && service != nil && !service.Dropped && !service.Suspended() && service.Has(s.Ordinal) &&
		s.Revision == service.Revision && s.Generation >= service.NextGeneration(s.Ordinal) &&
		(int(s.Ordinal) >= len(service.Slots) || service.Slots[s.Ordinal].Current == nil) &&
		s.Phase != events.PhaseStopped && s.Phase != events.PhaseRemoved && n.Open() && !n.Draining()
}

// pauseNode stops placement on the node. On a draining node it changes nothing, since the drain already stops placement.
func (t *Turn) pauseNode(r events.Request, n *projections.Node, _ events.NodePause) error {
	if n.Paused || n.Draining() {
		t.atOnce(r)
	} else {
		t.atOnce(r, events.NodePaused{})
	}
	return nil
}

// resumeNode allows placement on the node again, and ends its drain.
func (t *Turn) resumeNode(r events.Request, n *projections.Node, _ events.NodeResume) error {
	if !n.Paused && !n.Draining() {
		t.atOnce(r)
		return nil
	}
	t.overtake(r, n)
	t.atOnce(r, events.NodeResumed{})
	for _, i := range t.instancesOn([]*projections.Node{n})[n.Name] {
		t.work.add(i.ID.Service) // its instances stay, and need no successor any longer
	}
	return nil
}

// update stores the operator's settings for the node, which take precedence over the node's own.
func (t *Turn) update(r events.Request, n *projections.Node, c events.NodeUpdate) error {
	next, before := n.Overrides.With(c), n.Facts
	if count := len(next.Labels) + len(next.Without); count > events.MaxLabels {
		return events.Reject(events.CodeOutOfRange, "labels",
			"node %s would have %d labels that replace its own: want at most %d", n.Name, count, events.MaxLabels)
	}
	if next.Same(n.Overrides) {
		t.atOnce(r)
		return nil
	}
	t.atOnce(r, events.NodeUpdated{Overrides: next})
	t.misfits(n, before)
	return nil
}

// nodeOf returns the node that the command is for.
func (t *Turn) nodeOf(r events.Request) (*projections.Node, error) {
	name, _ := r.Scope.Node()
	n := t.Cluster.Nodes[name]
	if n == nil {
		return nil, events.Reject(events.CodeNotFound, "subject", "%s", t.Cluster.NoNode(name))
	}
	if n.Forgotten {
		return nil, events.Reject(events.CodeBusy, "subject",
			"node %s is being forgotten: wait until that ends; if it returns then, it joins as a new node", name)
	}
	return n, nil
}
