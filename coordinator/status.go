package coordinator

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// statusStream is the name that statuses' causes carry.
const statusStream = "ROOKERY_STATUS"

// Status takes a node's status. It ignores a status of an earlier process of the node, and one that is not newer than the known
// one. So repeated, late and reordered statuses do no harm.
func (t *Turn) Status(sequence uint64, s events.Status) {
	t.at(events.Unit{Work: events.WorkStatus, Scope: events.NodeScope(s.Node), Sequence: sequence})
	t.reserve(MaxPerInput)
	t.cause = events.Cause{Causation: events.CauseOf(statusStream, sequence)}
	if s.Hello != nil {
		t.hello(s.Node, s.Program, *s.Hello)
		return
	}
	n := t.Cluster.Nodes[s.Node]
	if n == nil || n.Forgotten || n.Revoked {
		return
	}
	if s.Session != nil {
		t.session(n, *s.Session)
	}
	if s.Engine != nil {
		t.engine(n, *s.Engine)
	}
	if s.Instance != nil && s.Instance.Epoch == n.Epoch {
		t.instance(n, s.Instance.InstanceState)
	}
	if s.List != nil && s.List.Epoch == n.Epoch {
		for _, listed := range s.List.Instances {
			t.listed(n, listed)
		}
		if s.List.Last && n.Unlisted {
			t.cause = events.Cause{Causation: events.CauseOf(statusStream, sequence)}
			t.emit(events.NodeScope(n.Name), events.NodeListed{Epoch: n.Epoch})
		}
	}
}

// session records that a user opens a session with an instance, or with an orphan of a service. Without accounts nothing holds a user to its name.
func (t *Turn) session(n *projections.Node, s events.SessionStatus) {
	i, id := t.Cluster.Instance(s.ID()), s.ID().Service
	elsewhere := i != nil && i.Node != n.Name
	if elsewhere || t.Cluster.Services[id] == nil || !t.Cluster.Accounts || t.Cluster.Level < events.LevelAdmissions {
		return
	}
	t.cause.Actor = s.User
	t.emit(events.ServiceScope(id), events.SessionOpened{Ordinal: s.Ordinal, Generation: s.Generation, Node: n.Name, Session: s.Session})
}

// listed takes one entry of a node's full list.
func (t *Turn) listed(n *projections.Node, s events.InstanceState) {
	known := t.Cluster.Instance(s.ID())
	switch {
	case known != nil && known.Node == n.Name:
		t.instance(n, s)
	case known == nil && adopts(t.Cluster, n, s):
		t.emit(events.ServiceScope(s.ID().Service), events.InstanceAdopted{InstancePlaced: events.InstancePlaced{
			Ordinal: s.Ordinal, Generation: s.Generation, Revision: s.Revision, Run: t.Cluster.Services[s.ID().Service].Run(),
			Node: n.Name, Address: n.Facts.Address, Ports: s.Ports,
			Scratch:         t.Cluster.Services[s.ID().Service].Current().Spec.ScratchSize(&t.Cluster.Policy),
			SecurityContext: t.Cluster.Policy.SecurityContext,
			Window:          t.windowOf(t.Cluster.Services[s.ID().Service], &t.Cluster.Services[s.ID().Service].Current().Spec),
		}})
		t.instance(n, s)
	default:
		t.orphan(n, s)
	}
}

// instance takes a node's report about an instance, if it is newer than the known one and differs from it.
func (t *Turn) instance(n *projections.Node, s events.InstanceState) {
	i := t.Cluster.Instance(s.ID())
	if i == nil || i.Node != n.Name {
		if !adopts(t.Cluster, n, s) { // adoption waits for the list, which has its ports
			t.orphan(n, s)
		}
		return
	}
	t.sight(n, i, s)
	if i = t.Cluster.Instance(s.ID()); i != nil {
		t.answer(i, s)
	}
}

// sight takes the phase that the instance has reached.
func (t *Turn) sight(n *projections.Node, i *projections.Instance, s events.InstanceState) {
	if !news(i, s) {
		return
	}
	if (s.Phase == events.PhaseRemoved || s.Phase == events.PhaseStopped) && i.Retired() == "" {
		return // a node removes only what it must stop, and this instance must run
	}
	t.cause = t.cause.Of(t.correlate(i))
	if s.Images = t.Cluster.Services[i.ID.Service].News(i, byDigest(s.Images)); i.Differs {
		s.Images = nil // already known
	}
	if seen := seenEvent(n.Name, s); seen != nil {
		t.emit(events.ServiceScope(i.ID.Service), seen)
	}
}

// byDigest returns the images by the digests that a node reports. The repository comes from the spec: a node must not choose
// it.
func byDigest(digests map[string]string) map[string]string {
	if len(digests) == 0 {
		return nil
	}
	images := make(map[string]string, len(digests))
	for name, digest := range digests {
		images[name] = events.ByDigest(name, digest)
	}
	return images
}

// news reports whether the report about the instance is newer than the known one and differs from it. The report that an ended
// instance has no process left, and will not restart, may come after the report of its end.
func news(i *projections.Instance, s events.InstanceState) bool {
	if s.Position == i.Seen {
		return s.NoRestart != "" && i.Ended().NoRestart == ""
	}
	same := s.Phase == i.Seen.Phase && s.Attempt == i.Seen.Attempt && s.Reason == i.Ended().Reason && s.NoRestart == i.Ended().NoRestart
	return s.Above(i.Seen) && (!same || i.Lost) // an unchanged report of a lost instance is news, after its node restarted
}

// answer takes the instance's answer to what the operation asks now. An answer to anything else is from before, or from a log
// that was restored since.
func (t *Turn) answer(i *projections.Instance, s events.InstanceState) {
	c := s.Confirmed
	asked := t.Cluster.Services[i.ID.Service].Asked(i)
	if c == nil || asked == nil || c.Operation != asked.Operation || c.Attempt != asked.Attempt || c.Phase != asked.Phase {
		return
	}
	if t.Cluster.Services[i.ID.Service].AskOf(i) != nil && !t.answersSnapshot(i, s) {
		return
	}
	t.cause = t.cause.Of(t.correlate(i))
	answer := events.InstanceAsked{Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Node: i.Node, Confirmation: *c}
	if c.Refused != "" {
		t.emit(events.ServiceScope(i.ID.Service), events.InstanceRefused{InstanceAsked: answer})
		return
	}
	t.emit(events.ServiceScope(i.ID.Service), events.InstanceConfirmed{InstanceAsked: answer, Exports: s.Exports})
}

// correlate returns the cause of the open command that the instance's service works for, if any.
func (t *Turn) correlate(i *projections.Instance) events.Cause {
	return t.causeOf(t.Cluster.Services[i.ID.Service])
}

func seenEvent(node string, s events.InstanceState) events.Data {
	seen := events.InstanceSeen{
		Ordinal: s.Ordinal, Generation: s.Generation, Node: node, Position: s.Position,
		Reason: s.Reason, ExitCode: s.ExitCode, Message: s.Message, NoRestart: s.NoRestart, Output: s.Output, Images: s.Images,
	}
	switch s.Phase {
	case events.PhasePlaced:
		return nil
	case events.PhasePrepared:
		return events.InstancePrepared{InstanceSeen: seen}
	case events.PhaseStarted:
		return events.InstanceStarted{InstanceSeen: seen}
	case events.PhaseOnline:
		return events.InstanceOnline{InstanceSeen: seen}
	case events.PhaseOffline:
		return events.InstanceOffline{InstanceSeen: seen}
	case events.PhaseCompleted:
		return events.InstanceCompleted{InstanceSeen: seen}
	case events.PhaseStopped:
		return events.InstanceStopped{InstanceSeen: seen}
	case events.PhaseRemoved:
		return events.InstanceRemoved{InstanceSeen: seen}
	}
	return nil
}
