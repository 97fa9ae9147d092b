package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// hold is a node that is held for a service; without a name where none is.
type hold struct {
	service events.ServiceID
	node    string
}

// heldFrom reports whether the node is held from a slot: for a service that has waited longer, unless the slot had an
// instance, or from anything that moves, as an instance does that is gone already.
func (k *knowledge) heldFrom(id events.InstanceID, node string, gone *instance) bool {
	if k.kept.node == "" || k.kept.node != node || k.kept.service == id.Service {
		return false
	}
	return gone != nil || (!k.service(id.Service).had[id.Ordinal] && !k.older(id.Service, k.kept.service))
}

// older reports whether a service began to wait before another one, or does so now; of two at once, the first by name.
func (k *knowledge) older(id, other events.ServiceID) bool {
	since := func(id events.ServiceID) time.Time {
		if at := k.service(id).since; !at.IsZero() {
			return at
		}
		return k.at
	}
	if a, b := since(id), since(other); !a.Equal(b) {
		return a.Before(b)
	}
	return id.Compare(other) < 0
}

// renew has the slots from an ordinal on count as new that have no instance which shall run.
func (k *knowledge) renew(id events.ServiceID, from uint32) {
	runs := map[uint32]bool{}
	for _, i := range k.of(id) {
		runs[i.id.Ordinal] = runs[i.id.Ordinal] || i.runs()
	}
	maps.DeleteFunc(k.service(id).had, func(o uint32, _ bool) bool { return o >= from && !runs[o] })
	maps.DeleteFunc(k.service(id).crashes, func(o uint32, _ *crash) bool { return o >= from && !runs[o] })
}

// letGo ends a hold of the service.
func (k *knowledge) letGo(id events.ServiceID) {
	if k.kept.service == id {
		k.kept = hold{}
	}
}

// waitsNoMore follows a service that may have all that it shall have by now.
func (k *knowledge) waitsNoMore(id events.ServiceID) {
	if s := k.services[id]; s == nil || !k.lacking(id) {
		k.letGo(id)
		if s != nil {
			s.since = time.Time{}
		}
	}
}

// lacking reports whether fewer slots of the service have an instance than shall.
func (k *knowledge) lacking(id events.ServiceID) bool {
	s, filled, wanted := k.services[id], map[uint32]bool{}, 0
	for _, i := range k.of(id) {
		if i.runs() {
			filled[i.id.Ordinal] = true
		}
	}
	switch {
	case s.dropped || s.idle() || s.givenUp() || s.resting():
	case s.isJob():
		wanted = min(int(s.specs[s.revision].Jobs().Parallelism), int(s.scale)-len(s.job.done))
	default:
		wanted = int(s.span())
	}
	return len(filled) < wanted
}

// holds judges what a slot that waits says of a node that is held, for it or for another service.
func (k *knowledge) holds(j *judge, id events.ServiceID, d events.InstancePending) {
	s, before := k.service(id), k.kept
	if s.since.IsZero() {
		s.since = j.at
	}
	if d.Removed.Held > 0 && (d.HeldFor != before.service.String() || before.node == "") {
		j.breach("holds", "%s/%d waits for %s, and %q is held for %s", id, d.Ordinal, d.HeldFor, before.node, before.service)
	}
	turn := before.node == "" || before.service == id || k.older(id, before.service)
	if turn {
		k.letGo(id)
	}
	if d.Holds != "" {
		k.kept = hold{id, d.Holds}
	}
	could := k.couldBeHeld(id, d.Ordinal)
	lacks, eligible := could[d.Holds]
	switch {
	case d.Holds == "" && turn && len(could) > 0 && !j.w.plan.Golden: // an earlier version held none
		j.breach("holds", "%s/%d has waited longest, and no node is held for it", id, d.Ordinal)
	case d.Holds == "":
	case !turn:
		j.breach("holds", "%s is held for %s, and %s has waited longer", d.Holds, id, before.service)
	case !eligible:
		j.breach("holds", "%s is held for %s/%d, and cannot have it", d.Holds, id, d.Ordinal)
	default:
		k.nearest(j, d.Holds, lacks, could, before == k.kept)
	}
}

// nearest holds the node that is held to be the one that lacks least, or to have been held before and to lack at most twice
// as much.
func (k *knowledge) nearest(j *judge, node string, lacks float64, could map[string]float64, before bool) {
	const rounding = 1e-4
	for other, less := range could {
		if less+rounding < lacks && (!before || 2*less+rounding < lacks) {
			j.breach("holds", "%s is held for %s and lacks %.4f of it, and %s lacks %.4f", node, k.kept.service, lacks, other, less)
			return
		}
	}
}

// couldBeHeld returns the nodes that lack nothing but room for the slot's next instance, with how much, in parts of what it
// asks for.
func (k *knowledge) couldBeHeld(id events.ServiceID, ordinal uint32) (could map[string]float64) {
	k.service(id).as(ordinal, func() { could = k.lackRoom(id, ordinal) })
	return could
}

func (k *knowledge) lackRoom(id events.ServiceID, ordinal uint32) map[string]float64 {
	s, could := k.service(id), map[string]float64{}
	for name, n := range k.nodes {
		spec := s.specs[s.revision]
		if home := s.home(ordinal); !k.ready(name) || n.free() < len(spec.Ports) || (home != "" && home != name && !s.roams(ordinal)) ||
			k.excluded(spec, n) != "" || k.beside(id, name, nil) != "" || k.uneven(id, n.facts.Zone, nil) != "" {
			continue
		}
		asks, has, lacks := k.setAside(id, name), n.facts.Allocatable(), k.lacks(id, name, nil)
		if lacks == (events.Resources{}) || (has.CPU > 0 && asks.CPU > has.CPU) || (has.Memory > 0 && asks.Memory > has.Memory) {
			continue
		}
		could[name] = float64(lacks.CPU)/float64(max(asks.CPU, 1)) + float64(lacks.Memory)/float64(max(asks.Memory, 1))
	}
	return could
}

// heldRightly holds a leader to let go of a node that cannot have what it is held for, and to hold one where a service waits
// for room alone. A job that may have no more just now is not asked.
func (k *knowledge) heldRightly(j *judge, epoch uint64, now time.Time) {
	wrong := ""
	if k.kept.node != "" {
		if slots := k.due(j, k.kept.service, now); k.againstJob(k.kept.service, now) == "" && len(slots) > 0 {
			if _, eligible := k.couldBeHeld(k.kept.service, slots[0])[k.kept.node]; !eligible {
				wrong = k.kept.node + " is held for " + k.kept.service.String() + ", and cannot have it"
			}
		}
	} else {
		for _, id := range slices.SortedFunc(maps.Keys(k.services), events.ServiceID.Compare) {
			if slots := k.due(j, id, now); k.services[id].waits && len(slots) > 0 && k.againstJob(id, now) == "" && len(k.couldBeHeld(id, slots[0])) > 0 {
				wrong = id.String() + " waits for room alone, and no node is held"
			}
		}
	}
	switch {
	case wrong == "":
		k.wrong = late{}
	case k.wrong.left(epoch, now):
		j.breach("holds", "%s, for %d rounds", wrong, k.wrong.rounds)
	}
}
