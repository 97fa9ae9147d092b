package world

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

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
	// window is how long it may run without its node being heard; 0 for no such bound.
	window  time.Duration
	retired bool
	// lost says that its node was silent for too long, away that another may stand in for it meanwhile, and served since when it
	// serves in its attempt.
	lost, away bool
	served     time.Time
	removed    bool
	// rests says that nothing of it runs, and its node starts it no more. spent says that this is because it used up its restarts.
	rests bool
	spent bool
	// forgotten says that it went with its node, which may not know of it.
	forgotten bool
	gone      time.Time
	// lasted is since when it serves, or did last.
	lasted time.Time
	// since is when the log had it first.
	since time.Time
	seen  events.Position
	// serves is since when it serves; zero where it does not.
	serves time.Time
	// answer is how it last answered what it was asked as the topology changed.
	answer events.Confirmation
	// restore is what its volumes are to hold before it first runs.
	restore *events.Restore
}

// placed holds a placement to be of a new generation, in an empty slot, on a node that is ready, within its ports.
func (k *knowledge) placed(j *judge, service events.ServiceID, d events.InstancePlaced) {
	id := events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation}
	j.settled(id)
	if k.instances[id] != nil {
		j.breach("P5", "%s is placed a second time: its generation is used again", id)
	}
	before := k.instances[events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Replaces}]
	if d.Replaces > 0 && k.drains(before) && k.service(service).upToDate(before) {
		k.evacuates(j, id, d, before)
		return
	}
	if d.Replaces > 0 && k.service(service).op != nil {
		k.besideBefore(j, id, d)
		return
	}
	if d.Replaces > 0 {
		k.moved(j, id, d)
		return
	}
	if k.clears(j, service, d.Ordinal) && !j.rereading {
		j.breach("P6", "%s is placed before what its slot had is gone", id)
	}
	for _, i := range k.of(service) {
		if i.id.Ordinal == d.Ordinal && i.runs() {
			j.breach("P5", "%s is placed while %s is to run", id, i.id)
		}
	}
	k.service(service).as(d.Ordinal, func() {
		k.fitting(j, id, d, nil)
		k.explained(j, id, d)
	})
	k.begunAgain(j, id, d.Node)
	if k.service(service).resting() {
		j.breach("suspend", "%s is placed, and its service rests", id)
	}
	restore := k.service(service).restores(d.Ordinal, d.Revision, d.Node)
	k.hold(j, service, d)
	k.instances[id].restore = restore
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
	if exclusive := s.specs[d.Revision].Exclusive; exclusive != (d.Window > 0) || (exclusive && d.Window < events.MinWindow) {
		j.breach("liveness", "%s may run %s without its node being heard, and is exclusive: %t", id, time.Duration(d.Window), exclusive)
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
	if d.Ordinal >= s.span() || s.dropped || d.Revision != s.revision {
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
		scratch: d.Scratch, window: time.Duration(d.Window), replaces: d.Replaces, since: time.Now(),
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

// retired holds an instance to go for the reason that is said.
func (k *knowledge) retired(j *judge, id events.InstanceID, d events.InstanceRetired) {
	i := k.instances[id]
	if i == nil || i.removed || i.retired {
		j.breach("retire", "%s is retired, and the log has it %s", id, i)
		return
	}
	j.settled(id)
	s := k.service(id.Service)
	if d.Reason == events.RetireScaledDown && id.Ordinal < s.span() {
		j.breach("P6", "%s goes, and %d slots have a part in the topology", id, s.span())
	}
	if (d.Reason == events.RetireSuspended) != s.resting() {
		j.breach("suspend", "%s goes as %s, and its service rests: %t", id, d.Reason, s.resting())
	}
	k.replaced(j, i, d.Reason)
	k.crashed(j, i, d.Reason)
	if d.Reason == events.RetireRevised && s.upToDate(i) && (i.replaces == 0 || i.revision == s.revision) {
		j.breach("revisions", "%s is replaced as one of another revision, and is as revision %d", id, s.revision)
	}
	k.succeeds(j, i, d.Reason)
	if s.isJob() {
		k.retiredOfJob(j, i, d.Reason)
	} else if d.Reason == events.RetireFailed && (i.seen.Phase != events.PhaseOffline || !s.specs[i.revision].IsJob()) {
		j.breach("retire", "%s is retired as failed, and is %s, and no job's", id, i)
	}
	k.reconciled(j, i, d.Reason)
	if s.op != nil && s.upToDate(i) && !i.away {
		delete(s.op.serves, id.Ordinal)
	}
	i.retired, i.away = true, false
	if d.Reason == events.RetireScaledDown || d.Reason == events.RetireDropped || d.Reason == events.RetireSuspended {
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
	if _, offline := d.(events.InstanceOffline); offline {
		j.refers(id, s)
	}
	ends := s.Position == i.seen && s.NoRestart != "" && !i.rests // once what was not well is stopped
	if !climbs(i.seen, s.Position) && !ends {
		j.breach("status", "%s sinks from %v to %v", id, i.seen, s.Position)
	}
	k.operating(j, service).beginsAnew(i, s.Position)
	k.service(service).ends(i, s, j.at)
	if s.Phase != events.PhaseOnline {
		i.served, i.serves = time.Time{}, time.Time{}
	} else {
		if i.served.IsZero() || s.Attempt != i.seen.Attempt {
			i.served = j.at
		}
		if i.serves.IsZero() {
			i.serves = j.at
		}
	}
	i.seen = s.Position
	i.spent = s.Phase == events.PhaseOffline && s.NoRestart == events.NoRestartAttempts
	i.rests = i.spent || s.Phase >= events.PhaseCompleted || (s.Phase == events.PhaseOffline && s.NoRestart == events.NoRestartPolicy)
	k.operating(j, service).serve(i, s.Phase)
	k.service(service).fail(i, s, j.at)
	k.service(service).runs(i, s.Phase)
	k.sightedOfJob(j, i, s)
	if s.Phase != events.PhaseRemoved {
		return
	}
	if !i.retired {
		j.breach("P9", "%s is removed, and was to run", id)
	}
	k.remove(i)
}

// remove has an instance be no more.
func (k *knowledge) remove(i *instance) {
	id := i.id
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

// takes is what is set aside for the instance: of what rests its disk.
func (i *instance) takes() events.Resources {
	if i.rests {
		return events.Resources{Disk: i.reserved.Disk}
	}
	return i.reserved
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
