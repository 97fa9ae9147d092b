package projections

import (
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// appliers apply the events about a kind of thing to the state, and report whether they know the event's type.
var appliers = map[string]func(*Cluster, events.Record) bool{
	"command": (*Cluster).applyCommand, "group": (*Cluster).applyGroup, "service": (*Cluster).applyService,
	"operation": (*Cluster).applyOperation, "snapshot": (*Cluster).applySnapshot, "topology": (*Cluster).applyTopology,
	"instance": (*Cluster).applyInstance, "node": (*Cluster).applyNode, "stray": (*Cluster).applyOrphan,
	"cluster": (*Cluster).applyCluster, "unit": (*Cluster).applyUnit,
}

// Apply applies one event to the state. It returns ErrUnknown for an event of a type that the log does not have: that is a defect of the
// caller, who must not use the state any longer.
func (c *Cluster) Apply(r events.Record) error {
	if apply := appliers[r.Data.Kind().Thing]; apply == nil || !apply(c, r) {
		return fmt.Errorf("log sequence %d: %w: %s", r.Sequence, ErrUnknown, r.Data.Kind())
	}
	if len(c.Shunned) > 0 {
		c.unshun(r)
	}
	if id, ok := r.Scope.Service(); ok {
		c.noteLacks(id)
		c.index(id)
		c.noteUnsettled(id, r.Time)
	}
	return nil
}

// applyCluster applies an event about the cluster as a whole to the state.
func (c *Cluster) applyCluster(r events.Record) bool {
	switch d := r.Data.(type) {
	case events.ClusterAdopted:
		c.adopt(r, d)
	case events.ClusterRenewed:
		c.Streams[statusStream], c.StatusCursor = d.Identity, 0
	case events.PolicyChanged:
		c.Policy = d.Policy
	case events.NodesAllowed:
		c.allow(d.Allowed)
	case events.ClusterLevel:
		c.raise(d.Level)
	case events.ClusterSigned:
		c.Key = d.Key
	case events.TokenCreated:
		c.createToken(d, r.Time)
	case events.EvictionsPaused:
		c.Evictions.Paused = true
	case events.EvictionsResumed:
		c.Evictions = Evictions{ResumedAt: r.Time}
	default:
		return c.applyRebalance(r)
	}
	return true
}

// Close applies the end of a round to the state. The chain is the hash after the closing message itself.
func (c *Cluster) Close(sequence uint64, closed events.RoundClosed, chain events.Chain) {
	c.Round, c.Epoch, c.Leader, c.Now = closed.Round, closed.Epoch, closed.Leader, closed.Now
	c.CommandCursor, c.StatusCursor = closed.Commands, closed.Statuses
	c.Sequence, c.Chain = sequence, chain
	c.Recovering = c.Recovering && !c.recovered()
	c.forget(closed.CommandsKept, closed.Now)
}

// adopt takes over the streams' identities. Unless it founds the cluster, the log may be older than what the nodes have. Every
// node must list all its instances then.
func (c *Cluster) adopt(r events.Record, d events.ClusterAdopted) {
	if c.Founded() {
		c.Recovering, c.AdoptedAt = true, r.Time
		for _, n := range c.Nodes {
			n.Unlisted = true
		}
	}
	if d.Streams[commandsStream] != c.Streams[commandsStream] {
		c.forgetCommands()
	}
	c.Streams, c.Accounts = d.Streams, d.Accounts
	c.CommandCursor, c.StatusCursor = d.Commands, d.Statuses
}

// RecoverFor is how long after an adoption the coordinator places and stops nothing. Within this time, nodes that the log does
// not know can list their instances.
const RecoverFor = 15 * time.Second

// recovered reports whether every node that sends heartbeats has listed its instances, and RecoverFor is over for unknown nodes.
func (c *Cluster) recovered() bool {
	for _, n := range c.Nodes {
		if n.Unlisted && !n.Silent && n.Program.Levels.Hold(c.Level) {
			return false
		}
	}
	return !c.Now.Before(c.AdoptedAt.Add(RecoverFor))
}

// noteLacks forgets since when and why the service lacked an instance, once it lacks none any longer.
func (c *Cluster) noteLacks(id events.ServiceID) {
	s := c.Service(id)
	if s != nil && !s.Lacks() {
		s.Pending, s.WaitsSince = nil, time.Time{}
		if s.Job == nil {
			s.Grown = nil
		}
	}
	c.noteHolder(id)
}

// promoteVerb is the verb of the only command that may run while another command holds the service.
var promoteVerb = events.ServicePromote{}.Kind().Name

func (c *Cluster) applyCommand(r events.Record) bool {
	switch d := r.Data.(type) {
	case events.CommandAccepted:
		cmd := c.remember(r, d.CommandIdentity, Accepted)
		cmd.Unchanged, cmd.Queued = d.Unchanged, d.Queued
		c.open[d.Sequence] = struct{}{}
		if id, ok := r.Scope.Service(); ok && !d.Queued && d.Verb != promoteVerb {
			c.service(id).heldBy(d.Sequence)
		}
		if name, ok := r.Scope.Node(); ok && lasts(d.Verb) {
			c.node(name).Holder = d.Sequence
		}
	case events.CommandQueued:
		id, _ := r.Scope.Service()
		c.Queues[id] = append(c.Queues[id], d)
	case events.CommandBegun:
		id, _ := r.Scope.Service()
		c.Commands[d.Sequence].begin(r.Time)
		c.unqueue(id, d.Sequence)
		c.service(id).heldBy(d.Sequence)
	case events.CommandRejected:
		cmd := c.remember(r, d.CommandIdentity, Rejected)
		rejection := d.Rejection
		cmd.Rejection, cmd.Other = &rejection, d.Holder
	case events.CommandRepeated:
		cmd := c.remember(r, events.CommandIdentity{Sequence: d.Sequence}, Repeated)
		cmd.Other = d.Of
	case events.CommandSucceeded:
		id, _ := r.Scope.Service()
		if s := c.Services[id]; s != nil && s.Holder == d.Sequence {
			s.settled()
		}
		c.endCommand(d.Sequence, Succeeded, r.Time)
	case events.CommandFailed:
		cmd := c.endCommand(d.Sequence, Failed, r.Time)
		cmd.Reason, cmd.Message = d.Reason, d.Message
	case events.CommandSuperseded:
		c.endCommand(d.Sequence, Superseded, r.Time).Other = d.By
	default:
		return false
	}
	return true
}

// service returns the service, and creates it first where it is missing.
func (c *Cluster) service(id events.ServiceID) *Service {
	s := c.Service(id)
	if s == nil {
		s = &Service{ID: id, Revisions: map[uint64]*Revision{}, Floor: c.GenerationFloor, Holder: c.members[id]}
		c.Services[id] = s
	}
	c.last = s
	return s
}

func (c *Cluster) applyService(r events.Record) bool {
	id, _ := r.Scope.Service()
	s := c.service(id)
	switch d := r.Data.(type) {
	case events.ServiceRevised:
		s.Changed = r.Sequence
		c.letGo(s)
		s.revise(d, r.Time)
	case events.ServiceScaled:
		if current := s.Current(); current == nil || !current.Spec.Global() {
			s.Changed = r.Sequence
		}
		s.scaled(d, r.Time)
	case events.ServiceFired:
		c.letGo(s)
		s.fired(d, r.Time)
		s.grow(0, r.Time)
	case events.ServiceSkipped:
		s.considered(d.Scheduled)
	case events.ServiceSuspended:
		s.suspend(r)
	case events.ServiceResumed:
		s.resume(r, d)
		s.grow(0, r.Time)
	case events.ServiceDropped:
		s.Suspension, s.Resumption = nil, nil
		s.Dropped, s.Changed, s.Snapshots.Wanted = true, r.Sequence, 0
		s.renew()
	case events.ServiceRemoved:
		for _, slot := range s.Slots {
			s.Floor = max(s.Floor, slot.Last)
		}
		c.GenerationFloor = max(c.GenerationFloor, s.Floor)
		c.DroppedAt = max(c.DroppedAt, s.Changed)
		delete(c.Services, id)
		c.last = nil
	default:
		return false
	}
	return true
}

func (c *Cluster) applyInstance(r events.Record) bool {
	id, _ := r.Scope.Service()
	switch d := r.Data.(type) {
	case events.InstancePlaced:
		c.placed(r, id, d)
	case events.InstancePending:
		s := c.service(id)
		s.Pending = &d
		if s.WaitsSince.IsZero() {
			s.WaitsSince = r.Time
		}
		if d.Holds != "" {
			c.Holder = id
		}
	case events.InstanceAdopted:
		c.placed(r, id, d.InstancePlaced)
		// passOver keeps a leader from adopting an orphan. Older logs may adopt one.
		delete(c.node(d.Node).Orphans, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})
	case events.InstanceRetired:
		c.retired(r, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}, d.Reason)
	case events.SessionOpened: // it changes nothing of the instance
	case events.InstanceForgotten:
		c.forgotten(r, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})
	case events.InstanceRemoved:
		c.removed(events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})
	case events.InstanceOffline:
		if i := c.seen(r, id, d.InstanceSeen); i != nil {
			c.Services[id].noteFailure(i, d.InstanceSeen, r.Time)
			c.Services[id].noteEnd(i, d.InstanceSeen, r.Time)
		}
	case events.InstanceCompleted:
		if i := c.seen(r, id, d.InstanceSeen); i != nil {
			c.Services[id].ended(i)
		}
	case events.Sighting:
		c.seen(r, id, d.Seen())
	case events.InstanceConfirmed:
		c.answered(id, d.InstanceAsked)
		c.exported(id, d)
	case events.InstanceRefused:
		c.answered(id, d.InstanceAsked)
	case events.InstanceLost:
		if i := c.Instance(events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}); i != nil && !i.Lost {
			c.lose(i)
		}
	case events.InstanceReturned:
		if i := c.Instance(events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}); i != nil && i.Lost {
			c.comeBack(i, r.Time)
		}
	default:
		return false
	}
	return true
}

func (c *Cluster) placed(r events.Record, service events.ServiceID, d events.InstancePlaced) {
	n := c.node(d.Node)
	n.Orders++
	i := &Instance{
		ID:       events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation},
		Revision: d.Revision, Node: d.Node, Address: d.Address, Ports: d.Ports, Reserved: d.Reserved, SecurityContext: d.SecurityContext,
		Decided: r.Sequence, Counter: n.Orders,
	}
	special := Special{Run: d.Run, Scratch: d.Scratch, Window: d.Window}
	if d.Window > 0 {
		special.Epoch = n.Epoch
	}
	i.special(special)
	n.hold(i)
	s := c.service(service)
	i.Times = Times{Created: momentOf(r.Time), Scheduled: momentOf(r.Time)}
	if d.Replaces > 0 {
		s.succeed(i)
		if s.Operation == nil && !c.evacuates(s.Slots[d.Ordinal].Current) {
			c.moves(i.ID, r.Time)
		}
		return
	}
	if _, adopted := r.Data.(events.InstanceAdopted); !adopted {
		s.refill(i) // an adopted instance has its volumes already
	}
	s.Pending = nil
	if since := s.Lacking(d.Ordinal); since != 0 {
		i.Times.Created = since
	}
	s.add(i)
	s.noteJob(i, "", r.Time)
}

func (c *Cluster) retired(r events.Record, id events.InstanceID, reason events.RetireReason) {
	i := c.Instance(id)
	if i == nil || i.Retired() != "" {
		return
	}
	n := c.node(i.Node)
	n.Orders++
	i.Decided, i.Counter = r.Sequence, n.Orders
	c.moved(i, reason)
	s := c.Services[id.Service]
	if reason == events.RetireCrashLooping {
		s.crashed(i, r.Time)
	}
	c.drains(s, i, reason, r.Time)
	s.retire(i, reason, r.Time)
	s.noteJob(i, reason, r.Time)
}

// seen applies what a node reports of an instance. It returns the instance, or nil where the state has none of that id.
func (c *Cluster) seen(r events.Record, service events.ServiceID, d events.InstanceSeen) *Instance {
	i := c.Instance(events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation})
	if i == nil {
		return nil
	}
	s := c.Services[service]
	s.countServing(i, -1)
	s.beginsAnew(i, d.Position)
	s.noteRestarts(i, d.Position)
	i.Times.saw(i.Seen, d, r.Time)
	took := i.Takes()
	i.Seen = d.Position
	i.ends(Ending{Retired: i.Retired(), Reason: d.Reason, ExitCode: d.ExitCode, Message: d.Message, NoRestart: d.NoRestart})
	c.node(i.Node).takesNow(i, took, r.Sequence)
	i.Output = d.Output != ""
	s.resolve(r.Sequence, i, d.Images)
	s.countServing(i, 1)
	s.nextServes(i, r.Time)
	s.serves(i, r.Time)
	s.runs(i)
	return i
}

func (c *Cluster) removed(id events.InstanceID) {
	i := c.Instance(id)
	if i == nil {
		return
	}
	c.node(i.Node).release(i)
	c.Services[id.Service].remove(i)
	c.found(i)
}

// node returns the node, and creates it first where it is missing.
func (c *Cluster) node(name string) *Node {
	n := c.Nodes[name]
	if n == nil {
		n = &Node{Name: name, NotAllowed: !c.allows(name), Orphans: map[events.InstanceID]*Orphan{}, ports: map[events.HostPort]events.InstanceID{}}
		c.Nodes[name] = n
	}
	return n
}

// raise brings the cluster to the level. All nodes that it knows work at it.
func (c *Cluster) raise(level events.Level) {
	for _, n := range c.Nodes {
		if n.Program.Levels.Advice(c.Level) != "" {
			n.Degraded = ""
		}
		n.Program.Levels.Most = max(n.Program.Levels.Most, level)
	}
	c.Level = level
}

func (c *Cluster) allow(nodes []string) {
	c.Allowed = nodes
	for name, n := range c.Nodes {
		n.NotAllowed = !c.allows(name)
	}
}

func (c *Cluster) allows(node string) bool {
	_, listed := slices.BinarySearch(c.Allowed, node)
	return listed || len(c.Allowed) == 0
}

// applyAdmission applies an event about which nodes may connect. The node may never have joined.
func (c *Cluster) applyAdmission(name string, r events.Record) bool {
	n := c.Nodes[name]
	switch d := r.Data.(type) {
	case events.NodeAdmitted:
		c.admit(name, d)
	case events.NodeRevoked:
		c.revoke(name, d)
		if n != nil {
			n.cutOff(r.Time)
		}
	default:
		return false
	}
	return true
}

func (c *Cluster) applyNode(r events.Record) bool {
	name, _ := r.Scope.Node()
	if c.applyAdmission(name, r) {
		return true
	}
	n := c.node(name)
	switch d := r.Data.(type) {
	case events.NodeJoined:
		n.rejoin(d)
		n.Degraded = d.Program.Levels.Advice(c.Level)
	case events.NodeUpdated:
		n.Overrides = d.Overrides
		n.know()
	case events.NodeMisfits: // its content follows from the state
	case events.NodePaused:
		n.Paused = true
	case events.NodeResumed:
		n.Paused, n.Drain = false, nil
	case events.NodeDraining:
		n.Drain = &Drain{Cause: r.Cause, Until: d.Until}
	case events.NodeDrained:
		n.Drain.Done, n.Drain.Forced = true, d.Forced
	case events.NodeForgotten:
		c.giveUp(n)
	case events.NodeRemoved:
		c.NodeEpochFloor = max(c.NodeEpochFloor, d.Epoch)
		delete(c.Nodes, name)
	case events.NodeSilent:
		n.Silent, n.SilentSince = true, r.Time
	case events.NodeReturned:
		n.back()
	case events.NodeLost:
		n.Lost = true
	case events.NodeDegraded:
		n.Degraded, n.EngineCounter = d.Message, d.Counter
	case events.NodeRecovered:
		n.Degraded, n.EngineCounter = "", d.Counter
	case events.NodeListed:
		n.Unlisted = false
	default:
		return false
	}
	return true
}

// passOver makes later generations of the slot begin above that of an orphan. A restored log may not know that it was given out.
func (c *Cluster) passOver(orphan events.InstanceID) {
	s := c.Services[orphan.Service]
	switch {
	case s == nil:
		c.GenerationFloor = max(c.GenerationFloor, orphan.Generation)
	case int(orphan.Ordinal) < len(s.Slots):
		s.Slots[orphan.Ordinal].Last = max(s.Slots[orphan.Ordinal].Last, orphan.Generation)
	default:
		s.Floor = max(s.Floor, orphan.Generation)
	}
}

func (c *Cluster) applyOrphan(r events.Record) bool {
	name, _ := r.Scope.Node()
	n := c.node(name)
	switch d := r.Data.(type) {
	case events.StrayFound:
		n.Orders++
		n.Orphans[d.ID()] = &Orphan{Decided: r.Sequence, Counter: n.Orders, Why: d.Why}
		c.passOver(d.ID())
	case events.StrayRemoved:
		delete(n.Orphans, d.ID())
	case events.StrayForgotten:
		delete(n.Orphans, d.ID())
	default:
		return false
	}
	return true
}
