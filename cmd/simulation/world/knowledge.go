package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// knowledge is what follows from the log, as far as the promises speak of it.
type knowledge struct {
	commands  map[uint64]*fate
	open      map[uint64]*fate  // those that were accepted and have not ended
	accepted  map[string]uint64 // by source and id
	services  map[events.ServiceID]*service
	instances map[events.InstanceID]*instance
	// present are those that are not removed, in order.
	present []*instance
	nodes   map[string]*machine
	policy  events.Policy
	allowed []string // nodes; any where there are none
	// moves is the rebalancing that is under way, nil where none is.
	moves *moves
	// kept is the node that is held for a service, and wrong what was closed since it is not as it should be.
	kept  hold
	wrong late
	at    time.Time // of the event that is taken
	// asked is what the last command of the round that is judged wants of each service.
	asked map[events.ServiceID]asked
}

type fate struct {
	service  events.ServiceID
	verb     string
	since    time.Time
	accepted bool
	queued   bool // it waits for those before it
	ended    bool
	// late is what was closed since its deadline passed, by one leader.
	late late
}

// late counts the rounds of a leader's epoch in which something was left undone, from the first.
type late struct {
	epoch  uint64
	first  time.Time
	rounds int
}

// left counts a round, and reports whether the leader has had all the rounds and the time that it may need.
func (l *late) left(epoch uint64, now time.Time) bool {
	const patience, rounds = time.Minute, 20
	if l.epoch != epoch || l.rounds == 0 {
		*l = late{epoch: epoch, first: now}
	}
	l.rounds++
	return l.rounds > rounds && now.Sub(l.first) > patience
}

type service struct {
	scale    uint32
	revision uint64
	specs    map[uint64]events.Spec
	dropped  bool
	// changed is the sequence of the last event that changed what it shall be.
	changed uint64
	// keeps are the earlier revisions that are as the present one; good is how all last was as it should be, nil for never.
	keeps map[uint64]bool
	good  *good
	// homes are the nodes that have the volumes of slots.
	homes map[uint32]string
	// failed are when instances of the revision failed, by node.
	failed map[string][]time.Time
	// waits says that a slot has no node; late is what was closed since there is one for it, and lags what was closed
	// since a global service has not as many instances as nodes.
	waits      bool
	late, lags late
	job        job
	// since is when a slot first had no node since all had one, and had are the slots that have had an instance.
	since time.Time
	had   map[uint32]bool
}

type instance struct {
	id       events.InstanceID
	node     string
	address  string
	revision uint64
	run      uint64
	ports    []events.PortBinding
	reserved events.Resources
	// replaces is the generation that runs on until this one serves; 0 where there is none any more.
	replaces uint32
	scratch  events.Size
	retired  bool
	removed  bool
	gone     time.Time
	// since is when the log had it first.
	since time.Time
	seen  events.Position
}

func newKnowledge() *knowledge {
	return &knowledge{
		commands: map[uint64]*fate{}, open: map[uint64]*fate{}, accepted: map[string]uint64{}, services: map[events.ServiceID]*service{},
		instances: map[events.InstanceID]*instance{}, nodes: map[string]*machine{}, policy: events.DefaultPolicy(),
		asked: map[events.ServiceID]asked{},
	}
}

// take judges one event of a round against what was before it, and learns it.
func (k *knowledge) take(j *judge, r events.Record, d events.Data) {
	id, _ := r.Scope.Service()
	name, _ := r.Scope.Node()
	k.at = r.Time
	defer k.waitsNoMore(id)
	switch d := d.(type) {
	case events.CommandAccepted:
		k.unseen(j, d.Sequence, id)
		if d.Queued {
			k.queued(j, d.Sequence, id)
		} else {
			k.alone(j, d.Sequence, id)
			k.wants(j, d.Sequence, d.Verb, id)
		}
		k.outcome(j, d.Sequence, &fate{service: id, verb: d.Verb, since: r.Time, accepted: true, queued: d.Queued})
		k.once(j, d.CommandIdentity)
	case events.CommandRejected:
		k.outcome(j, d.Sequence, &fate{})
	case events.CommandRepeated:
		k.outcome(j, d.Sequence, &fate{})
		k.repeats(j, d)
	case events.CommandQueued:
	case events.CommandBegun:
		k.begun(j, d.Sequence, r.Time)
	case events.CommandSucceeded:
		if f := k.end(j, d.Sequence); f.queued {
			j.breach("queues", "command %d succeeded, and never began", d.Sequence)
		}
		k.succeeded(j, d.Sequence, id)
	case events.CommandSuperseded:
		k.end(j, d.Sequence)
	case events.CommandFailed:
		k.failed(j, r.Time, d)
	case events.ServiceRevised:
		k.revised(j, id, d)
		k.service(id).changed = r.Sequence
	case events.ServiceScaled:
		k.scaled(id, r.Sequence, d)
		k.renew(id, d.Scale)
	case events.ServiceFired:
		k.ran(j, id, d.Run, d.Scheduled, false)
	case events.ServiceSkipped:
		k.ran(j, id, d.Run, d.Scheduled, true)
	case events.ServiceDropped:
		s := k.service(id)
		s.dropped, s.waits, s.changed = true, false, r.Sequence
		k.renew(id, 0)
	case events.ServiceRemoved:
		delete(k.services, id)
	case events.InstancePlaced:
		k.placed(j, id, d)
	case events.InstanceAdopted:
		k.hold(j, id, d.InstancePlaced)
	case events.InstanceRetired:
		k.retired(j, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation}, d)
	case events.InstancePending:
		k.pending(j, id, d)
	case events.RebalanceStarted:
		k.moves = &moves{terms: d.RebalanceTerms}
	case events.RebalanceEnded:
		k.moves = nil
	case events.PolicyChanged:
		k.policy = d.Policy
	case events.NodesAllowed:
		k.allowed = d.Allowed
	case events.Sighting:
		k.sighted(j, id, d)
	default:
		k.node(j, name, d)
	}
}

func (k *knowledge) service(id events.ServiceID) *service {
	s := k.services[id]
	if s == nil {
		s = &service{specs: map[uint64]events.Spec{}, homes: map[uint32]string{}, had: map[uint32]bool{}}
		k.services[id] = s
	}
	return s
}

func (k *knowledge) outcome(j *judge, sequence uint64, f *fate) {
	if k.commands[sequence] != nil {
		j.breach("P1", "command %d has a second outcome", sequence)
	}
	k.commands[sequence] = f
	if f.accepted {
		k.open[sequence] = f
	}
}

// alone holds a service to have one command at a time: what another takes the place of ends before.
func (k *knowledge) alone(j *judge, sequence uint64, id events.ServiceID) {
	for _, other := range slices.Sorted(maps.Keys(k.open)) {
		if k.open[other].service == id {
			j.breach("P1", "command %d is accepted for %s while command %d has not ended", sequence, id, other)
			return
		}
	}
}

// deadline is how long an accepted command may take.
const deadline = 10 * time.Minute

// overdue holds a leader to fail what is past its deadline. It looks from time to time, so it has a few rounds for it.
func (k *knowledge) overdue(j *judge, epoch uint64, now time.Time) {
	for _, sequence := range slices.Sorted(maps.Keys(k.open)) {
		f := k.open[sequence]
		if (f.queued && k.held(f.service)) || (!f.queued && (now.Sub(f.since) < deadline || k.waitsForJob(f, now))) {
			f.late = late{}
			continue
		}
		if f.late.left(epoch, now) {
			j.breach("P1", "command %d has no end %s after it was accepted", sequence, now.Sub(f.since))
			return
		}
	}
}

// once holds an id to be accepted once.
func (k *knowledge) once(j *judge, c events.CommandIdentity) {
	if c.ID == "" {
		return
	}
	key := c.Source + "\x00" + c.ID
	if earlier, known := k.accepted[key]; known {
		j.breach("P3", "commands %d and %d have one id, and both are accepted", earlier, c.Sequence)
	}
	k.accepted[key] = c.Sequence
}

func (k *knowledge) end(j *judge, sequence uint64) *fate {
	f := k.commands[sequence]
	switch {
	case f == nil || !f.accepted:
		j.breach("P1", "command %d ends, and was never accepted", sequence)
		return &fate{}
	case f.ended:
		j.breach("P1", "command %d ends a second time", sequence)
	}
	f.ended = true
	delete(k.open, sequence)
	return f
}

func (k *knowledge) failed(j *judge, now time.Time, d events.CommandFailed) {
	f := k.end(j, d.Sequence)
	if lasted := now.Sub(f.since); d.Reason == events.ReasonDeadline && lasted < deadline {
		j.breach("time", "command %d failed at its deadline after %s", d.Sequence, lasted)
	}
	s := k.services[f.service]
	switch {
	case f.queued && d.Reason == events.ReasonDeadline, !f.queued && d.Reason == events.ReasonRefused:
		j.breach("queues", "command %d failed as %s, and waits: %t", d.Sequence, d.Reason, f.queued)
	case d.Reason == events.ReasonDeadline && k.worksOn(f, now):
		j.breach("jobs", "command %d failed at its deadline, and its job runs", d.Sequence)
	case d.Reason == events.ReasonBackoffLimit && (s == nil || !s.givenUp()):
		j.breach("jobs", "command %d failed at the limit of a job that is not given up", d.Sequence)
	}
}

// succeeded holds a success to be one: the service is as was asked.
func (k *knowledge) succeeded(j *judge, sequence uint64, id events.ServiceID) {
	if id.Namespace == "" {
		return // it was for the cluster or for a node, and done as it was accepted
	}
	s, serving, others := k.services[id], 0, 0
	if s != nil && s.isJob() && !s.dropped {
		if !s.allDone() && s.specs[s.revision].Job.Schedule == "" {
			j.breach("jobs", "command %d succeeded with %d slots of %s done of %d", sequence, len(s.job.done), id, s.scale)
		}
		return
	}
	for _, i := range k.of(id) {
		if s != nil && !s.dropped && !i.retired && s.upToDate(i) && i.seen.Phase == events.PhaseOnline {
			serving++
		} else {
			others++
		}
	}
	if s == nil || others > 0 || (!s.dropped && serving != int(s.scale)) {
		j.breach("P1", "command %d succeeded with %d instances of %s that serve, and %d others", sequence, serving, id, others)
	}
	if s != nil && !s.dropped {
		s.good = &good{spec: s.specs[s.revision], scale: s.scale}
	}
}

// of returns the instances of a service that are not removed, in order.
func (k *knowledge) of(id events.ServiceID) []*instance {
	first, _ := k.find(events.InstanceID{Service: id})
	last := first
	for last < len(k.present) && k.present[last].id.Service == id {
		last++
	}
	return k.present[first:last]
}

// find returns where an instance is among those that are not removed, or would be.
func (k *knowledge) find(id events.InstanceID) (at int, there bool) {
	return slices.BinarySearchFunc(k.present, id, func(i *instance, id events.InstanceID) int { return i.id.Compare(id) })
}

func (k *knowledge) revised(j *judge, id events.ServiceID, d events.ServiceRevised) {
	s := k.service(id)
	if d.Revision != s.revision+1 {
		j.breach("revisions", "revision %d of %s follows revision %d", d.Revision, id, s.revision)
	}
	s.repeats(j, id, d)
	s.revision, s.dropped, s.waits, s.specs[d.Revision] = d.Revision, false, false, d.Spec
	k.letGo(id)
	s.failed, s.job = map[string][]time.Time{}, job{scheduled: j.at, done: map[uint32]bool{}}
}

// placed holds a placement to be of a new generation, in an empty slot, on a node that is ready, within its ports.
func (k *knowledge) placed(j *judge, service events.ServiceID, d events.InstancePlaced) {
	id := events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation}
	j.settled(id)
	if k.instances[id] != nil {
		j.breach("P5", "%s is placed a second time: its generation is used again", id)
	}
	if d.Replaces > 0 {
		k.moved(j, id, d)
		return
	}
	for _, i := range k.of(service) {
		if i.id.Ordinal == d.Ordinal && !i.retired {
			j.breach("P5", "%s is placed while %s is to run", id, i.id)
		}
	}
	k.fitting(j, id, d, nil)
	k.explained(j, id, d)
	k.hold(j, service, d)
}

// fitting holds a placement to be one that the node can have, as if an instance that is gone were so already.
func (k *knowledge) fitting(j *judge, id events.InstanceID, d events.InstancePlaced, gone *instance) {
	service := id.Service
	n, s := k.nodes[d.Node], k.service(service)
	if !k.ready(d.Node) {
		j.breach("placement", "%s is placed on %s, which is not ready", id, d.Node)
		return
	}
	if why := k.againstSlot(id, d.Node, gone); why != "" {
		j.breach("placement", "%s is placed on %s: %s", id, d.Node, why)
	}
	if asks := k.setAside(service, d.Node); d.Reserved != asks {
		j.breach("capacity", "%s has %+v set aside on %s, and shall have %+v", id, d.Reserved, d.Node, asks)
	}
	if has := k.scratch(service); d.Scratch != has {
		j.breach("capacity", "%s has %s of scratch disk, and shall have %s", id, d.Scratch, has)
	}
	if d.SecurityContext != k.policy.SecurityContext {
		j.breach("placement", "%s has the security context %q, and the policy has %q", id, d.SecurityContext, k.policy.SecurityContext)
	}
	if why := k.againstJob(service, j.at); why != "" {
		j.breach("jobs", "%s is placed: %s", id, why)
	}
	if d.Run != s.job.run {
		j.breach("jobs", "%s is placed in run %d of run %d", id, d.Run, s.job.run)
	}
	if s.job.done[d.Ordinal] {
		j.breach("jobs", "%s is placed, and its slot is done", id)
	}
	if d.Ordinal >= s.scale || s.dropped || d.Revision != s.revision {
		j.breach("placement", "%s is placed in revision %d, and %s shall have %d of revision %d",
			id, d.Revision, service, s.scale, s.revision)
	}
	for _, p := range d.Ports {
		if other, taken := n.held[p.HostPort]; taken || p.HostPort < n.offers.First || p.HostPort > n.offers.Last {
			j.breach("capacity", "%s gets port %d of %s, which is out of its range or held by %s", id, p.HostPort, d.Node, other)
		}
	}
	if len(d.Ports) != len(s.specs[d.Revision].Ports) {
		j.breach("capacity", "%s gets %d ports of %d", id, len(d.Ports), len(s.specs[d.Revision].Ports))
	}
}

func (k *knowledge) hold(j *judge, service events.ServiceID, d events.InstancePlaced) {
	id := events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation}
	i := &instance{
		id: id, node: d.Node, address: d.Address, revision: d.Revision, run: d.Run, ports: d.Ports, reserved: d.Reserved,
		scratch: d.Scratch, replaces: d.Replaces, since: time.Now(),
	}
	k.instances[id] = i
	if d.Replaces == 0 {
		k.service(service).waits = false
		k.service(service).settle(i)
		k.service(service).had[d.Ordinal] = true
		k.letGo(service)
	}
	k.service(service).job.moved = j.at
	if at, there := k.find(id); there {
		k.present[at] = i
	} else {
		k.present = slices.Insert(k.present, at, i)
	}
	for _, p := range d.Ports {
		k.machine(d.Node).held[p.HostPort] = id
	}
}

// retired holds a revision to replace one instance at a time: the next when all of the new revision serve.
func (k *knowledge) retired(j *judge, id events.InstanceID, d events.InstanceRetired) {
	i := k.instances[id]
	if i == nil || i.removed || i.retired {
		j.breach("retire", "%s is retired, and the log has it %s", id, i)
		return
	}
	j.settled(id)
	s := k.service(id.Service)
	for _, o := range k.of(id.Service) {
		if d.Reason == events.RetireRevised && !s.isJob() && !o.retired && s.upToDate(o) && o.seen.Phase != events.PhaseOnline {
			j.breach("P6", "%s is replaced while %s of the new revision does not serve yet", id, o.id)
		}
	}
	if d.Reason == events.RetireRevised && s.upToDate(i) {
		j.breach("revisions", "%s is replaced as one of another revision, and is as revision %d", id, s.revision)
	}
	k.succeeds(j, i, d.Reason)
	if s.isJob() {
		k.retiredOfJob(j, i, d.Reason)
	}
	i.retired = true
	if d.Reason == events.RetireScaledDown || d.Reason == events.RetireDropped {
		delete(s.had, id.Ordinal)
	}
}

// sighted holds what is seen of an instance to climb, and only what was retired to be removed.
func (k *knowledge) sighted(j *judge, service events.ServiceID, d events.Sighting) {
	s := d.Seen()
	id := events.InstanceID{Service: service, Ordinal: s.Ordinal, Generation: s.Generation}
	i := k.instances[id]
	if i == nil || i.removed || i.node != s.Node {
		j.breach("status", "%s says that %s is %s, and the log has it %s", s.Node, id, s.Phase, i)
		return
	}
	if n := k.machine(i.node); s.Epoch != n.epoch {
		j.breach("status", "%s is seen %s in epoch %d of %s, which is in epoch %d", id, s.Phase, s.Epoch, i.node, n.epoch)
	}
	if !climbs(i.seen, s.Position) {
		j.breach("status", "%s sinks from %v to %v", id, i.seen, s.Position)
	}
	i.seen = s.Position
	k.service(service).fail(i, s, j.at)
	k.sightedOfJob(j, i, s)
	if s.Phase != events.PhaseRemoved {
		return
	}
	if !i.retired {
		j.breach("P9", "%s is removed, and was to run", id)
	}
	i.removed, i.gone = true, time.Now()
	if at, there := k.find(id); there {
		k.present = slices.Delete(k.present, at, at+1)
	}
	for _, p := range i.ports {
		if held := k.machine(i.node).held; held[p.HostPort] == id {
			delete(held, p.HostPort)
		}
	}
}

// climbs reports whether to is further than from.
func climbs(from, to events.Position) bool {
	ends := from.Phase >= events.PhaseCompleted || to.Phase >= events.PhaseCompleted
	if from.Epoch != to.Epoch {
		return to.Epoch > from.Epoch
	}
	if !ends && from.Attempt != to.Attempt {
		return to.Attempt > from.Attempt
	}
	// An instance that is offline may become so for another reason, and online again after it.
	return to.Phase > from.Phase
}
