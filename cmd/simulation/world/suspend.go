package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// rest is what the log says of a service that shall rest.
type rest struct {
	// stopped says that its instances go, taken is the snapshot that was taken for it, and late what was closed since one is left that
	// is not told to go.
	stopped bool
	taken   uint64
	late    late
}

// back is how a service came back: from which snapshot, of all slots or of those that are elsewhere than before, and which slots may
// have their volumes filled still.
type back struct {
	sequence uint64
	version  uint64
	named    bool
	filled   bool
	slots    map[uint32]*refill
}

type refill struct {
	volumes []events.Export
	placed  bool
}

// kept is a snapshot that may be resumed from.
type kept struct {
	scale   uint32
	volumes map[uint32][]events.Export
}

// resting reports whether the service is to have no instance.
func (s *service) resting() bool { return s.rest != nil && s.rest.stopped }

// restsNow reports whether all that goes of a service that rests is gone, or given up.
func (s *service) restsNow() bool { return s.resting() && s.op == nil }

// suspended holds a service that shall rest to be one that can.
func (k *knowledge) suspended(j *judge, id events.ServiceID, sequence uint64) {
	s := k.service(id)
	if s.rest != nil || s.dropped || s.isJob() || s.revision == 0 {
		j.breach("suspend", "%s is suspended, and is dropped: %t, or a job: %t, or was so before", id, s.dropped, s.isJob())
	}
	s.rest = &rest{stopped: len(k.of(id)) == 0 && !s.rescaling()}
	s.changed, s.snapshots.wanted = sequence, 0
}

// rescaling reports whether the topology is another one than it shall be.
func (s *service) rescaling() bool {
	return s.topology != nil && (s.topology.Scale != s.scale || s.topology.Change != nil)
}

// resumed follows a service that comes back, and holds the snapshot that it names to be one of it.
func (k *knowledge) resumed(j *judge, id events.ServiceID, sequence uint64, d events.ServiceResumed) {
	s := k.service(id)
	if s.rest == nil {
		j.breach("suspend", "%s is resumed, and was not suspended", id)
		return
	}
	if s.restFailed {
		s.restFailed = false
		delete(k.asked, id)
	}
	rested := *s.rest
	s.rest, s.changed = nil, sequence
	version := d.Snapshot
	if from := s.kept[version]; version > 0 && (!rested.stopped || from == nil || from.scale != s.scale || k.runsAny(id)) {
		j.breach("suspend", "%s is resumed from snapshot %d of %v with scale %d, and has stopped: %t", id, version, s.kept, s.scale, rested.stopped)
		return
	}
	if !rested.stopped {
		return
	}
	if version == 0 {
		version = rested.taken
	}
	if version > 0 { // else what was to be filled and is not is to be still
		s.back = nil
	}
	if from := s.kept[version]; version > 0 && from != nil {
		s.back = &back{sequence: sequence, version: version, named: d.Snapshot > 0, slots: map[uint32]*refill{}}
		for slot, volumes := range from.volumes {
			if slot < s.scale && !k.hasOne(id, slot) {
				s.back.slots[slot] = &refill{volumes: volumes}
			}
		}
	}
	if s.snapshots.since = (time.Time{}); s.specs[s.revision].Snapshot != nil {
		s.snapshots.since = j.at
	}
	if s.rescaling() {
		s.topology = nil
	}
	if s.good != nil {
		s.good = &good{spec: s.good.spec, scale: s.scale}
	}
	k.renew(id, 0)
}

// hasOne reports whether the slot has an instance that shall run, and runsAny whether any slot has.
func (k *knowledge) hasOne(id events.ServiceID, slot uint32) bool {
	return slices.ContainsFunc(k.of(id), func(i *instance) bool { return i.id.Ordinal == slot && i.runs() })
}

func (k *knowledge) runsAny(id events.ServiceID) bool {
	return slices.ContainsFunc(k.of(id), func(i *instance) bool { return !i.retired })
}

// roams reports whether the slot's next instance may be on any node, as its volumes are filled there.
func (s *service) roams(slot uint32) bool {
	if s.back == nil || s.back.slots[slot] == nil || s.back.slots[slot].placed {
		return false
	}
	has := map[string]bool{}
	for _, e := range s.back.slots[slot].volumes {
		has[e.Volume] = true
	}
	return !slices.ContainsFunc(s.specs[s.target(slot)].Volumes, func(v events.Volume) bool {
		return v.Kind == events.VolumeNamed && (!v.State || !has[v.Name])
	})
}

// restores works out what the volumes of an instance that is placed are to hold.
func (s *service) restores(ordinal uint32, revision uint64, node string) *events.Restore {
	if s.back == nil || s.back.slots[ordinal] == nil {
		return nil
	}
	slot, want := s.back.slots[ordinal], &events.Restore{Resumed: s.back.sequence, Snapshot: s.back.version}
	for _, v := range s.specs[revision].Volumes {
		for _, e := range slot.volumes {
			if v.Kind == events.VolumeNamed && e.Volume == v.Name {
				want.Volumes = append(want.Volumes, e)
			}
		}
	}
	home := s.homes[ordinal]
	if len(want.Volumes) == 0 || (!s.back.named && !slot.placed && home == node) {
		delete(s.back.slots, ordinal)
		return nil
	}
	slot.placed, s.back.filled = true, true
	return want
}

// runs follows an instance that runs: nothing is filled any more for its slot.
func (s *service) runs(i *instance, phase events.Phase) {
	if s.back != nil && !i.retired && (phase == events.PhaseStarted || phase == events.PhaseOnline) {
		delete(s.back.slots, i.id.Ordinal)
	}
}

// comesFrom is the version that instances are told to come from.
func (s *service) comesFrom() uint64 {
	if s.back == nil || (!s.back.named && !s.back.filled) {
		return 0
	}
	return s.back.version
}

// suspends holds a suspension to be of all slots, of a service that shall rest and whose topology is as it shall be.
func (o operating) suspends(sequence uint64, d events.OperationStarted) {
	if o.s.rest == nil || o.s.rest.stopped || o.s.rescaling() || d.Revision != o.s.revision || len(d.Slots) < int(o.s.span()) {
		o.breach("a suspension of %d slots of %d: %+v", len(d.Slots), o.s.span(), o.s.rest)
	}
	o.s.op = &operation{
		sequence: sequence, kind: d.Operation, revision: d.Revision, total: len(d.Slots), waiting: slices.Clone(d.Slots),
		entered: o.j.at, serves: map[uint32]time.Time{}, givenUp: map[uint32]bool{}, exports: map[uint32][]events.Export{},
		keeps: o.s.specs[o.s.revision].Snapshots() && o.s.span() > 0,
	}
}

// suspendPhases are those of the operation.
func (o operating) suspendPhases() []events.OperationPhase {
	if !o.op.keeps {
		return []events.OperationPhase{"retire"}
	}
	return []events.OperationPhase{"hold", "export", "retire"}
}

// doneInSuspension reports whether the slot is done with the phase, and whether it has failed.
func (o operating) doneInSuspension(slot uint32) (done, failed bool) {
	switch {
	case o.op.phase != events.OperationRetire && slot >= o.s.span():
		return true, false
	case o.op.phase != events.OperationRetire:
		return o.doneInSnapshot(slot)
	}
	left := slices.ContainsFunc(o.k.of(o.id), func(i *instance) bool {
		return i.id.Ordinal == slot && !i.away && (!i.retired || !o.k.machine(i.node).silent)
	})
	return !left, o.late()
}

// endsSuspension holds a suspension that was not done to have failed before anything went, or not to be wanted any more.
func (o operating) endsSuspension(d events.OperationEnded) {
	s := o.s
	switch {
	case d.Outcome == events.OperationSuperseded && !s.dropped && s.rest != nil:
		o.breach("is superseded, and the service is to rest")
	case d.Outcome == events.OperationAborted && (!o.anyFailed() || s.resting()):
		o.breach("is given up because of %v, and has stopped what there was: %t", d.GivenUp, s.resting())
	case d.Outcome == events.OperationDone && o.op.keeps && o.op.committed == 0:
		o.breach("is done, and nothing is committed")
	case d.Outcome == events.OperationDone && o.k.runsAny(o.id):
		o.breach("is done, and not all was told to go")
	case d.Outcome == events.OperationRolledBack:
		o.breach("is rolled back")
	}
	if d.Outcome == events.OperationAborted {
		s.restFailed = true
	}
	if d.Outcome == events.OperationDone && s.rest != nil {
		s.rest.stopped = true
	}
}

// stillRuns holds a leader to have all of a service go that rests.
func (k *knowledge) stillRuns(j *judge, id events.ServiceID, epoch uint64, now time.Time) {
	s := k.services[id]
	switch {
	case s.rest == nil:
	case s.restFailed && !s.dropped:
		j.breach("suspend", "%s was not to rest after something failed before, and is", id)
	case !s.resting() || s.dropped || !k.runsAny(id):
		s.rest.late = late{}
	case s.rest.late.left(epoch, now):
		j.breach("suspend", "%s rests, and has instances that are not told to go", id)
	}
}

// takesWhileItRests holds a command that is taken for a service that shall rest to be one which that takes.
func (k *knowledge) takesWhileItRests(j *judge, sequence uint64, verb string, id events.ServiceID) {
	takes := []string{"suspend", "resume", "cancel", "drop"}
	if s := k.services[id]; s != nil && s.rest != nil && !s.dropped && !slices.Contains(takes, verb) && !j.rereading {
		j.breach("suspend", "command %d, %s, is taken for %s, which is suspended", sequence, verb, id)
	}
}

// rested holds a command that succeeded for a service that rests to be right.
func (k *knowledge) rested(j *judge, sequence uint64, id events.ServiceID) {
	if s := k.services[id]; !s.restsNow() || k.runsAny(id) {
		j.breach("suspend", "command %d succeeded, and %s is to rest and does not", sequence, id)
	}
}

// failedToSuspend holds a failure of a suspension to be told as what it is.
func (k *knowledge) failedToSuspend(j *judge, f *fate, reason events.FailureReason) {
	s := k.services[f.service]
	switch {
	case reason != events.ReasonSuspendFailed && reason != events.ReasonStillThere:
	case f.verb != "suspend" || s == nil || s.op != nil || (reason == events.ReasonStillThere) != s.resting():
		j.breach("suspend", "a command to %s, %s, failed as %s: %+v", f.service, f.verb, reason, s)
	}
}

// restUnlike says in what a service that shall rest does not.
func (j *judge) restUnlike(id events.ServiceID) []string {
	s := j.cluster.services[id]
	var why []string
	if !s.restsNow() {
		why = append(why, id.String()+" is to rest, and does not")
	}
	for _, i := range j.cluster.of(id) {
		why = append(why, i.id.String()+" is "+i.String()+", and is to be gone")
	}
	return why
}

// refills holds an order to say of the volumes what follows from how the service came back.
func (j *judge) refills(i *instance, o events.Order) {
	if j.rewound {
		return
	}
	if want, has := i.restore, o.Restore; (want == nil) != (has == nil) ||
		(want != nil && (want.Resumed != has.Resumed || want.Snapshot != has.Snapshot || !slices.Equal(want.Volumes, has.Volumes))) {
		j.breach("suspend", "%s is ordered to run with %+v restored, and is to have %+v", i.id, has, want)
	}
	if s := j.cluster.services[i.id.Service]; o.Topology != nil && o.Topology.Snapshot != s.comesFrom() {
		j.breach("suspend", "%s is told to come from snapshot %d, and comes from %d", i.id, o.Topology.Snapshot, s.comesFrom())
	}
}

// keep remembers a snapshot as it was committed.
func (s *service) keep(version uint64, scale uint32, volumes map[uint32][]events.Export) {
	if s.kept == nil {
		s.kept = map[uint64]*kept{}
	}
	s.kept[version] = &kept{scale: scale, volumes: maps.Clone(volumes)}
	if s.rest != nil {
		s.rest.taken = version
	}
}
