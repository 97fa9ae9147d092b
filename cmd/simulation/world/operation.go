package world

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// operation is what the log says of a change that goes through a service wave by wave.
type operation struct {
	sequence uint64
	kind     events.OperationKind
	revision uint64
	from     uint64
	total    int
	waiting  []uint32
	wave     uint32
	slots    []uint32
	phase    events.OperationPhase
	entered  time.Time
	// serves is since when slots of the wave serve without a break, givenUp those that are waited for no more.
	serves   map[uint32]time.Time
	givenUp  map[uint32]bool
	failed   int
	promoted bool
	paused   time.Time
	// late is what was closed since its phase is over, and undone since something is to be done in it.
	late, undone late
}

// now is what is needed to judge an operation.
type operating struct {
	k  *knowledge
	j  *judge
	id events.ServiceID
	s  *service
	op *operation
}

func (k *knowledge) operating(j *judge, id events.ServiceID) operating {
	s := k.service(id)
	return operating{k, j, id, s, s.op}
}

func (o operating) update() events.Update { return o.s.specs[o.s.revision].Updates() }

func (o operating) breach(format string, args ...any) {
	o.j.breach("P6", o.id.String()+": "+format, args...)
}

// operates judges an event of a service's operation.
func (k *knowledge) operates(j *judge, id events.ServiceID, sequence uint64, d events.Data) {
	o := k.operating(j, id)
	if d, starts := d.(events.OperationStarted); starts {
		o.starts(sequence, d)
		return
	}
	if o.op == nil {
		o.breach("%s without an operation", d.Kind().Name)
		return
	}
	switch d := d.(type) {
	case events.OperationEntered:
		o.enters(d)
	case events.OperationPromoted:
		if o.op.phase != events.OperationPromote {
			o.breach("is promoted in phase %s", o.op.phase)
		}
		o.op.promoted = true
	case events.OperationPaused:
		o.fails(d.GivenUp)
		if u := o.update(); u.OnFailure == events.FailureContinue ||
			(u.OnFailure == events.FailureRollback && o.op.kind != events.OperationRollback && o.s.good != nil && o.changesBack()) {
			o.breach("is paused, and was to %s", u.OnFailure)
		}
		o.op.paused = j.at
	case events.OperationResumed:
		if o.op.paused.IsZero() {
			o.breach("goes on, and was not paused")
		}
		o.op.paused, o.op.entered = time.Time{}, j.at
	case events.OperationEnded:
		o.ends(d)
		o.s.op = nil
	}
}

// changesBack reports whether going back to where all was well changes anything.
func (o operating) changesBack() bool {
	return o.s.specs[o.s.revision].Hash() != o.s.good.spec.Hash() || o.s.scale != o.s.good.scale || len(o.outdated()) > 0
}

// outdated returns the slots that have an instance which is to be replaced, in order.
func (o operating) outdated() []uint32 {
	var slots []uint32
	for _, i := range o.k.of(o.id) {
		if !i.retired && i.replaces == 0 && !o.s.upToDate(i) {
			slots = append(slots, i.id.Ordinal)
		}
	}
	return slots
}

func (o operating) starts(sequence uint64, d events.OperationStarted) {
	if o.op != nil {
		o.breach("two operations at once")
	}
	slots := slices.Sorted(slices.Values(d.Slots))
	if want := o.outdated(); !slices.Equal(slots, want) || d.Revision != o.s.revision || o.s.isJob() {
		o.breach("an operation to revision %d of slots %v, and %v are to get revision %d", d.Revision, slots, want, o.s.revision)
	}
	if d.From > 0 && (o.s.good == nil || o.s.good.spec.Hash() != o.s.specs[d.From].Hash()) {
		o.breach("slots have revision %d until their wave, in which not all was well", d.From)
	}
	o.s.op = &operation{
		sequence: sequence, kind: d.Operation, revision: d.Revision, from: d.From, total: len(d.Slots), waiting: slices.Clone(d.Slots),
		entered: o.j.at, serves: map[uint32]time.Time{}, givenUp: map[uint32]bool{},
	}
}

// phases are those that the present wave goes through.
func (o operating) phases() []events.OperationPhase {
	u, phases := o.update(), []events.OperationPhase{"start", "retire"}
	if o.stopsFirst() {
		phases = []events.OperationPhase{"retire", "start"}
	}
	if u.Monitor > 0 {
		phases = append(phases, "monitor")
	}
	if len(o.op.waiting) > 0 && o.op.wave == 1 && u.Promote == events.PromoteByCommand {
		phases = append(phases, "promote")
	}
	if len(o.op.waiting) > 0 && u.Delay > 0 {
		phases = append(phases, "delay")
	}
	return phases
}

// stopsFirst reports whether what slots have goes before what they get comes.
func (o operating) stopsFirst() bool {
	spec := o.s.specs[o.s.revision]
	return o.update().Order == events.StopFirst || spec.Global() || volumes(spec)
}

// enters holds a phase to follow the one before, once all slots are done with that.
func (o operating) enters(d events.OperationEntered) {
	op, phases := o.op, o.phases()
	if d.Operation != op.sequence || !op.paused.IsZero() {
		o.breach("operation %d enters %s, and it is %d, paused: %t", d.Operation, d.Phase, op.sequence, !op.paused.IsZero())
	}
	at := slices.Index(phases, op.phase)
	over := op.wave == 0 || op.phase == events.OperationWait || at == len(phases)-1
	o.passes(d.GivenUp)
	switch {
	case len(d.Slots) > 0:
		if !over || d.Wave != op.wave+1 {
			o.breach("wave %d begins after phase %s of wave %d", d.Wave, op.phase, op.wave)
		}
		o.wave(d)
	case d.Phase == events.OperationWait:
		if !over {
			o.breach("the slots that are left wait for their nodes after phase %s", op.phase)
		}
		for _, slot := range op.waiting {
			if !o.bound(slot) {
				o.breach("slot %d waits for its node, and is bound to none that takes nothing", slot)
			}
		}
	case over || d.Wave != op.wave || d.Phase != phases[at+1]:
		o.breach("phase %s of wave %d follows phase %s of wave %d", d.Phase, d.Wave, op.phase, op.wave)
	}
	op.wave, op.phase, op.entered, op.late = d.Wave, d.Phase, o.j.at, late{}
}

// wave holds a wave to be of as many slots as may go together, of those that wait.
func (o operating) wave(d events.OperationEntered) {
	op, u := o.op, o.update()
	most := int(u.Parallelism)
	switch {
	case u.Strategy == events.UpdateRecreate:
		most = op.total
	case u.Canaries > 0 && op.wave == 0:
		most = int(u.Canaries)
	}
	if len(d.Slots) > most {
		o.breach("%d slots go together, and %d may", len(d.Slots), most)
	}
	op.slots, op.serves, op.givenUp = d.Slots, map[uint32]time.Time{}, map[uint32]bool{}
	for _, slot := range d.Slots {
		if !slices.Contains(op.waiting, slot) {
			o.breach("slot %d is in wave %d, and does not wait for one", slot, d.Wave)
		}
	}
	op.waiting = slices.DeleteFunc(op.waiting, func(slot uint32) bool { return slices.Contains(d.Slots, slot) })
	if d.Phase != o.phases()[0] {
		o.breach("wave %d begins with %s", d.Wave, d.Phase)
	}
	for _, i := range o.k.of(o.id) {
		o.serve(i, i.seen.Phase)
	}
}

// bound reports whether the slot must have its next instance on a node that takes none now.
func (o operating) bound(slot uint32) bool {
	for _, i := range o.k.of(o.id) {
		if i.id.Ordinal == slot && !i.retired && i.replaces == 0 {
			return (o.s.specs[o.s.revision].Global() || o.s.home(slot) != "") && !o.k.ready(i.node)
		}
	}
	return false
}

// done reports whether the slot is done with the phase, and whether it has failed.
func (o operating) done(slot uint32) (done, failed bool) {
	op, u := o.op, o.update()
	since := func(d events.Duration) bool { return o.j.at.Sub(op.entered) >= time.Duration(d) }
	serves, up := op.serves[slot]
	switch op.phase {
	case events.OperationStart:
		done, failed = up && o.j.at.Sub(serves) >= time.Duration(*u.MinHealthy), since(u.HealthyDeadline)
	case events.OperationRetire:
		done, failed = !o.remains(slot), since(u.HealthyDeadline)
	case events.OperationMonitor:
		failed = !up || serves.After(op.entered)
		done = !failed && since(u.Monitor)
	case events.OperationPromote:
		done = op.promoted
	case events.OperationDelay:
		done = since(u.Delay)
	case events.OperationWait:
	}
	return done || slot >= o.s.scale || op.givenUp[slot], failed
}

// remains reports whether something is left of what the slot had before, on a node that is heard.
func (o operating) remains(slot uint32) bool {
	return slices.ContainsFunc(o.k.of(o.id), func(i *instance) bool {
		return i.id.Ordinal == slot && !o.s.upToDate(i) && (!i.retired || !o.k.machine(i.node).silent)
	})
}

// passes holds every slot of the wave to be done with the phase, but for those that have failed, as many as may.
func (o operating) passes(givenUp []uint32) {
	op := o.op
	if op.wave == 0 || op.phase == events.OperationWait {
		return
	}
	for _, slot := range op.slots {
		done, failed := o.done(slot)
		if gone := slices.Contains(givenUp, slot); !done && (!gone || !failed) {
			o.breach("phase %s of wave %d is over, and slot %d is not done", op.phase, op.wave, slot)
		}
	}
	for _, slot := range givenUp {
		op.givenUp[slot] = true
	}
	op.failed += len(givenUp)
	if len(givenUp) > 0 && o.tooMany(0) && o.update().OnFailure != events.FailureContinue {
		o.breach("goes on after %d failed of %d", op.failed, op.total)
	}
}

// tooMany reports whether more slots than may have failed, with this many more.
func (o operating) tooMany(more int) bool {
	return float64(o.op.failed+more) > float64(o.update().MaxFailureRatio)*float64(o.op.total)
}

// fails holds slots to have failed, and to be too many.
func (o operating) fails(slots []uint32) {
	for _, slot := range slots {
		if done, failed := o.done(slot); done || !failed {
			o.breach("slot %d is said to have failed in phase %s", slot, o.op.phase)
		}
	}
	if !o.tooMany(len(slots)) {
		o.breach("%d failed of %d, and that is not too many", o.op.failed+len(slots), o.op.total)
	}
}

func (o operating) ends(d events.OperationEnded) {
	phases, op := o.phases(), o.op
	switch d.Outcome {
	case events.OperationDone:
		o.passes(d.GivenUp)
		if len(op.waiting) > 0 || op.phase != phases[len(phases)-1] {
			o.breach("is done after phase %s, and %v wait", op.phase, op.waiting)
		}
	case events.OperationRolledBack:
		o.fails(d.GivenUp)
		if o.update().OnFailure != events.FailureRollback || o.s.good == nil || op.kind == events.OperationRollback {
			o.breach("goes back, and was to %s", o.update().OnFailure)
			return
		}
		o.k.asked[o.id] = asked{verb: "cancel", revision: o.s.revision, good: o.s.good}
	case events.OperationSuperseded:
		if !o.s.dropped && op.revision == o.s.revision {
			o.breach("is superseded by nothing")
		}
	}
}

// serve follows whether a slot of the wave serves in what it is to get.
func (o operating) serve(i *instance, phase events.Phase) {
	if o.op == nil || i.retired || !o.s.upToDate(i) || !slices.Contains(o.op.slots, i.id.Ordinal) {
		return
	}
	if phase == events.PhaseOnline {
		o.op.serves[i.id.Ordinal] = o.j.at
	} else {
		delete(o.op.serves, i.id.Ordinal)
	}
}

// target is the revision that the slot's next instance is to have.
func (s *service) target(slot uint32) uint64 {
	if s.op != nil && s.op.from > 0 && s.op.revision == s.revision && slices.Contains(s.op.waiting, slot) {
		return s.op.from
	}
	return s.revision
}

// as judges with the revision that the slot's next instance is to have. Failures count of the service's own alone.
func (s *service) as(slot uint32, judged func()) {
	revision, failed := s.revision, s.failed
	if s.revision = s.target(slot); s.revision != revision {
		s.failed = nil
	}
	judged()
	s.revision, s.failed = revision, failed
}

// clears reports whether the slot is to have no instance before what it had is gone.
func (k *knowledge) clears(j *judge, id events.ServiceID, slot uint32) bool {
	o := k.operating(j, id)
	writes := func(i *instance) bool {
		return i.id.Ordinal == slot && i.node == o.s.home(slot) && i.retired && i.seen.Phase < events.PhaseCompleted && volumes(o.s.specs[i.revision])
	}
	if slices.ContainsFunc(k.of(id), writes) {
		return true
	}
	return o.op != nil && o.op.paused.IsZero() && o.op.phase == events.OperationRetire && o.stopsFirst() && slices.Contains(o.op.slots, slot)
}

// beside judges a placement in a slot of a wave, whose instance of before runs on.
func (k *knowledge) besideBefore(j *judge, id events.InstanceID, d events.InstancePlaced) {
	o := k.operating(j, id.Service)
	before := k.instances[events.InstanceID{Service: id.Service, Ordinal: id.Ordinal, Generation: d.Replaces}]
	if before == nil || before.retired || o.s.upToDate(before) {
		o.breach("%s is to succeed generation %d, which is %s", id, d.Replaces, before)
	}
	for _, i := range k.of(id.Service) {
		if i.id.Ordinal == id.Ordinal && i.replaces > 0 && !i.retired {
			o.breach("%s is placed beside %s, which is to succeed, too", id, i.id)
		}
	}
	if o.op.phase != events.OperationStart || !o.op.paused.IsZero() || o.stopsFirst() || !slices.Contains(o.op.slots, id.Ordinal) {
		o.breach("%s is placed in phase %s of slots %v", id, o.op.phase, o.op.slots)
	}
	k.leaves = before
	k.fitting(j, id, d, nil)
	k.explained(j, id, d)
	k.leaves = nil
	k.hold(j, id.Service, d)
}

// roomBeside reports whether a node could have the instance's successor beside it.
func (k *knowledge) roomBeside(i *instance) bool {
	k.leaves = i
	defer func() { k.leaves = nil }()
	return k.room(i.id.Service, i.id.Ordinal)
}

// replaced holds an instance of an earlier revision to go in the phase for it.
func (k *knowledge) replaced(j *judge, i *instance, reason events.RetireReason) {
	o := k.operating(j, i.id.Service)
	if o.s.isJob() || i.replaces > 0 || j.rereading || (reason != events.RetireRevised && reason != events.RetireMakesRoom) {
		return
	}
	phase := events.OperationRetire
	if reason == events.RetireMakesRoom {
		phase = events.OperationStart
	}
	if o.op == nil || !slices.Contains(o.op.slots, i.id.Ordinal) || o.op.phase != phase || !o.op.paused.IsZero() {
		o.breach("%s is retired (%s) outside of its wave's phase", i.id, reason)
		return
	}
	own := k.against(i.id.Service, i.node, i) == ""
	switch room := k.room(i.id.Service, i.id.Ordinal); {
	case reason == events.RetireMakesRoom && (k.roomBeside(i) || !own || o.stopsFirst()):
		o.breach("%s makes room for what has room beside it: %t, or not on its node: %t", i.id, room, own)
	case reason == events.RetireRevised && o.stopsFirst() && o.update().Strategy == events.UpdateRolling && !room && !own:
		o.breach("%s goes, and no node could have what comes", i.id)
	}
}

// waitsForPeople reports whether the service's operation goes on once somebody says so.
func (s *service) waitsForPeople() bool {
	return s.op != nil && (!s.op.paused.IsZero() || (s.op.phase == events.OperationPromote && !s.op.promoted))
}

// stuck holds a leader to go on with an operation once its phase is over.
func (k *knowledge) stuck(j *judge, id events.ServiceID, epoch uint64, now time.Time) {
	o := k.operating(j, id)
	j.at = now
	over := o.op != nil && o.op.paused.IsZero() && !o.s.dropped
	if over && o.op.phase == events.OperationWait {
		over = slices.ContainsFunc(o.op.waiting, func(slot uint32) bool { return !o.bound(slot) })
	} else if over {
		for _, slot := range o.op.slots {
			done, failed := o.done(slot)
			over = over && (done || failed)
		}
	}
	o.leftUndone(epoch, now)
	switch {
	case !over:
		if o.op != nil {
			o.op.late = late{}
		}
	case o.op.late.left(epoch, now):
		o.breach("stands in phase %s of wave %d, which is over, for %d rounds", o.op.phase, o.op.wave, o.op.late.rounds)
	}
}

// leftUndone holds a leader to do in a phase what is to be done in it.
func (o operating) leftUndone(epoch uint64, now time.Time) {
	if o.op == nil {
		return
	}
	undone := slices.ContainsFunc(o.op.slots, o.undone)
	switch {
	case !undone || !o.op.paused.IsZero() || o.s.dropped:
		o.op.undone = late{}
	case o.op.undone.left(epoch, now):
		o.breach("in phase %s of wave %d something is left undone for %d rounds", o.op.phase, o.op.wave, o.op.undone.rounds)
	}
}

// undone reports whether the slot has an instance of before that could have a successor beside it, or is to go.
func (o operating) undone(slot uint32) bool {
	var before, next *instance
	for _, i := range o.k.of(o.id) {
		switch {
		case i.id.Ordinal != slot || i.retired:
		case i.replaces > 0:
			next = i
		case !o.s.upToDate(i):
			before = i
		}
	}
	if before == nil || slot >= o.s.scale || o.op.givenUp[slot] {
		return false
	}
	own := o.k.against(o.id, before.node, before) == ""
	switch o.op.phase {
	case events.OperationStart:
		return !o.stopsFirst() && next == nil && (own || o.k.roomBeside(before))
	case events.OperationRetire:
		return own || o.k.room(o.id, slot) || !o.stopsFirst() || o.update().Strategy == events.UpdateRecreate
	case events.OperationMonitor, events.OperationPromote, events.OperationDelay, events.OperationWait:
	}
	return false
}
