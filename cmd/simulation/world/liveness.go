package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// absences draws the times at which nodes are lost.
func (d *drawer) absences() {
	const most = 6
	for n := d.IntN(most); n > 0; n-- {
		d.plan.Actions = append(d.plan.Actions, d.absence(time.Duration(d.Int64N(int64(d.plan.Lasts))))...)
	}
}

// absence draws nodes that are cut off for so long that they are lost, what people ask for meanwhile, and that a container ends or a
// leader does so just then.
func (d *drawer) absence(at time.Duration) []Action {
	const most, between = 8 * time.Minute, 4 * time.Minute
	id := d.service()
	all := []Action{d.say(at, id, "ensure", d.disconnects())}
	if d.IntN(3) == 0 {
		policies := []string{
			`{"liveness":{"lost_after":"20s"}}`, `{"liveness":{"lost_after":"2m","max_silent":1}}`, `{"liveness":{"max_silent":0.2}}`,
			`{"liveness":{"silent_after":"12s"}}`, `{"liveness":{"max_silent":0}}`, `{}`,
		}
		all = append(all, Action{At: at, Kind: Command, Subject: events.CommandRoot + ".cluster.policy", Body: policies[d.IntN(len(policies))]})
	}
	at += d.soon(between)
	cut := Action{At: at, Kind: Partition, Targets: []string{d.node()}, For: time.Minute + time.Duration(d.Int64N(int64(most))), N: d.IntN(1 << 30)}
	if d.IntN(4) == 0 {
		cut.Targets = append(cut.Targets, d.node())
	}
	all = append(all, cut)
	for range d.IntN(3) {
		then := at + time.Duration(d.Int64N(int64(cut.For)+int64(time.Minute)))
		switch d.IntN(5) {
		case 0:
			all = append(all, Action{At: then, Kind: Crash, Targets: []string{d.coordinator()}, For: d.soon(10 * time.Second), N: d.IntN(1 << 30)})
		case 1:
			all = append(all, d.say(then, id, "drop", `{}`))
		case 2:
			all = append(all, d.say(then, id, "scale", fmt.Sprintf(`{"scale":%d,"busy":"supersede"}`, d.IntN(7))))
		case 3:
			all = append(all, d.say(then, id, "ensure", d.disconnects()))
		default:
			all = append(all, Action{At: then, Kind: Exit, Targets: []string{cut.Targets[0]}, N: d.IntN(1 << 30)})
		}
	}
	return all
}

// disconnects draws a service that says what follows where its node is not heard.
func (d *drawer) disconnects() string {
	lost := []string{"", `"lost_after":"10s"`, `"lost_after":"2m"`}[d.IntN(3)]
	keeps := []string{"", `"reconcile":"keep-original"`, `"reconcile":"keep-replacement"`, `"reconcile":"longest-running"`}[d.IntN(4)]
	if lost != "" && keeps != "" {
		lost += ","
	}
	return fmt.Sprintf(`{"image":%q,"scale":%d,"disconnect":{%s},"busy":"supersede"}`, images[d.IntN(len(images))], 1+d.IntN(6), lost+keeps)
}

// runs reports whether the instance is what its slot has, or is to have.
func (i *instance) runs() bool { return !i.retired && !i.away }

// absent reports whether the instance is lost and nobody waits for it.
func (i *instance) absent() bool { return i.lost && (i.retired || i.away) }

// lostAfter is how long a node is silent before instances of the service there are lost.
func (k *knowledge) lostAfter(id events.ServiceID) time.Duration {
	s := k.service(id)
	if d := s.specs[s.revision].Disconnect; d != nil && d.LostAfter > 0 {
		return time.Duration(d.LostAfter)
	}
	return k.clusterLostAfter()
}

func (k *knowledge) clusterLostAfter() time.Duration {
	if own := k.policy.Liveness.LostAfter; own > 0 {
		return time.Duration(own)
	}
	return time.Minute
}

// tooManySilent reports whether so many nodes are silent, of those that are not lost, that nothing may be lost.
func (k *knowledge) tooManySilent() bool {
	most, silent, all := 0.5, 0.0, 0.0
	if own := k.policy.Liveness.MaxSilent; own > 0 {
		most = float64(own)
	}
	for _, n := range k.nodes {
		if n.epoch > 0 && !n.lost && !n.forgotten {
			all++
			if n.silent {
				silent++
			}
		}
	}
	return silent > most*all
}

// lives takes an event of what is lost.
func (k *knowledge) lives(j *judge, id events.ServiceID, d events.Data) {
	switch d := d.(type) {
	case events.InstanceLost:
		k.loses(j, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})
	case events.InstanceReturned:
		k.returns(j, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})
	case events.EvictionsPaused:
		k.parts(j, true)
	case events.EvictionsResumed:
		k.parts(j, false)
	}
}

// parts holds evictions to be paused while too many nodes are silent, and else not.
func (k *knowledge) parts(j *judge, paused bool) {
	if k.parted == paused || k.tooManySilent() != paused {
		j.breach("liveness", "evictions are paused: %t after %t, and too many nodes are silent: %t", paused, k.parted, k.tooManySilent())
	}
	k.parted = paused
	if !paused {
		k.whole = j.at
	}
}

// heard follows a node that is heard again: it lists what it has, where any of that is lost.
func (k *knowledge) heard(name string) {
	n := k.machine(name)
	n.silent, n.lost, n.heardAgain = false, false, time.Now()
	n.unlisted = n.unlisted || slices.ContainsFunc(k.present, func(i *instance) bool { return i.node == name && i.lost })
}

// inTime holds what is lost on a node to be so after its whole time: of silence, of the leader, and since evictions were resumed.
func (k *knowledge) inTime(j *judge, what string, n *machine, after time.Duration) {
	switch led := time.Since(j.before); {
	case !n.silent:
		j.breach("liveness", "%s is lost, and its node is not silent", what)
	case k.parted || k.tooManySilent():
		j.breach("liveness", "%s is lost while too many nodes are silent", what)
	case j.at.Sub(n.since) < after || j.at.Sub(k.whole) < after:
		j.breach("liveness", "%s is lost %s after its node was silent, and %s after evictions were resumed", what, j.at.Sub(n.since), j.at.Sub(k.whole))
	case led < after && !j.rereading:
		j.breach("liveness", "%s is lost %s after another led", what, led)
	}
}

// gone follows a node that is lost.
func (k *knowledge) gone(j *judge, name string) {
	n := k.machine(name)
	if n.lost {
		j.breach("liveness", "%s is lost a second time", name)
	}
	k.inTime(j, name, n, k.clusterLostAfter())
	n.lost = true
}

// loses follows an instance that is lost: where its slot may have two, another stands in for it.
func (k *knowledge) loses(j *judge, id events.InstanceID) {
	i := k.instances[id]
	if i == nil || i.removed || i.lost {
		j.breach("liveness", "%s is lost, and the log has it %s", id, i)
		return
	}
	j.settled(id)
	k.inTime(j, id.String(), k.machine(i.node), k.lostAfterOf(i))
	s := k.service(id.Service)
	if s.op != nil && i.runs() && (s.op.together() || s.upToDate(i)) {
		delete(s.op.serves, id.Ordinal)
	}
	i.lost = true
	own, next := s.specs[i.revision], s.specs[s.target(id.Ordinal)]
	i.away = !i.retired && i.replaces == 0 && !s.isJob() && !s.specs[s.revision].Global() &&
		own.Topology == nil && !volumes(own) && next.Topology == nil && !next.Exclusive && s.home(id.Ordinal) == ""
	for _, o := range k.of(id.Service) {
		if i.away && o.id.Ordinal == id.Ordinal && o.replaces == id.Generation && !o.retired {
			o.replaces = 0
			s.settle(o)
		}
	}
}

// returns follows a lost instance whose node is back: nothing else is in its slot.
func (k *knowledge) returns(j *judge, id events.InstanceID) {
	i := k.instances[id]
	if i == nil || i.removed || !i.lost {
		j.breach("liveness", "%s returns, and the log has it %s", id, i)
		return
	}
	if n := k.machine(i.node); n.silent || n.unlisted {
		j.breach("liveness", "%s returns before %s has listed what it has", id, i.node)
	}
	for _, o := range k.of(id.Service) {
		if i.away && o.id.Ordinal == id.Ordinal && o.runs() {
			j.breach("P5", "%s returns while %s is to run", id, o.id)
		}
	}
	i.lost, i.away = false, false
	k.operating(j, id.Service).serve(i, i.seen.Phase)
}

// reconciled holds one of two instances of a slot to be retired as the spec says, once the node of the lost one has listed.
func (k *knowledge) reconciled(j *judge, i *instance, reason events.RetireReason) {
	s := k.service(i.id.Service)
	original, stays := i, i
	for _, o := range k.of(i.id.Service) {
		switch {
		case o.id.Ordinal != i.id.Ordinal || o == i:
		case reason == events.RetireReturned && o.away && !k.machine(o.node).silent && !k.machine(o.node).unlisted:
			original = o
		case reason == events.RetireReplaced && o.runs() && o.replaces == 0:
			stays = o
		}
	}
	switch {
	case reason == events.RetireReturned && (original == i || !i.runs() || !k.prefers(original, i)):
		j.breach("liveness", "%s goes for an original that is back, and there is none that is to stay", i.id)
	case reason == events.RetireReplaced && !s.isJob() && (!i.away || stays == i || k.machine(i.node).silent || k.machine(i.node).unlisted):
		j.breach("liveness", "%s goes as one that was replaced, and is %s", i.id, i)
	case reason == events.RetireReplaced && !s.isJob() && k.prefers(i, stays) && !k.hasNext(stays):
		j.breach("liveness", "%s goes for %s, and is to stay", i.id, stays.id)
	}
}

// prefers reports whether the original is to stay, and not its replacement.
func (k *knowledge) prefers(original, replacement *instance) bool {
	s := k.service(original.id.Service)
	if k.machine(original.node).drain != nil {
		return false
	}
	if d := s.specs[s.revision].Disconnect; d != nil && d.Reconcile != events.ReconcileLongestRunning {
		return d.Reconcile == events.ReconcileKeepOriginal
	}
	n := k.machine(original.node)
	serves := original.seen.Phase == events.PhaseOnline && original.seen.Epoch == n.epoch
	stands := replacement.seen.Phase == events.PhaseOnline && !k.machine(replacement.node).silent
	if !serves || !stands {
		return serves
	}
	return original.served.Before(replacement.served)
}

// letsGoOfLost holds a leader to let go of what is on a node that is silent for long, and of what it has said so of.
func (k *knowledge) letsGoOfLost(j *judge, id events.ServiceID, epoch uint64, now time.Time) {
	const patience = 2 * time.Minute // a leader's loop that stood still begins to listen anew, and nobody is told
	s, overdue := k.services[id], (*instance)(nil)
	for _, i := range k.of(id) {
		n, since := k.machine(i.node), k.lostAfterOf(i)+patience
		if !i.lost && n.silent && !k.parted && !k.tooManySilent() && now.Sub(n.since) > since && now.Sub(k.whole) > since &&
			now.Sub(j.w.freed) > since && // whoever cannot write the log leads anew once it can, and begins to listen then
			now.Sub(j.recovers) > since { // nor is anything lost before each node that was heard by an adopted log has said what it has, or is silent
			overdue = i
		}
	}
	if overdue == nil {
		s.unlost = late{}
	} else if s.unlost.left(epoch, now) {
		j.breach("liveness", "%s is not lost, and its node is silent for %s", overdue.id, now.Sub(k.machine(overdue.node).since))
	}
}
