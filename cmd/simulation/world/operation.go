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
	// counts is since when the leader of this epoch counts how long the phase takes.
	counts time.Time
	epoch  uint64
	// serves is since when slots of the wave serve without a break, givenUp those that are waited for no more.
	serves   map[uint32]time.Time
	givenUp  map[uint32]bool
	failed   int
	promoted bool
	// rescale is what topology it brings, nil where it brings none, and attempt how often it has tried the phase.
	rescale *events.Rescale
	attempt uint32
	// exports are what was kept of volumes for a snapshot, by slot, and committed is the version that it got; 0 for none yet.
	exports   map[uint32][]events.Export
	committed uint64
	// keeps says that a snapshot is taken before all goes.
	keeps  bool
	paused time.Time
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
	case events.OperationProlonged:
		o.prolongs(d)
	case events.OperationPromoted:
		if o.op.phase != events.OperationPromote {
			o.breach("is promoted in phase %s", o.op.phase)
		}
		o.op.promoted = true
	case events.OperationPaused:
		k.broke[id] = true
		if o.leftBehind(d.GivenUp) {
			o.op.paused = j.at
			return
		}
		o.fails(d.GivenUp)
		over := o.allOrNone() && o.op.phase == events.OperationRetire
		if u := o.update(); u.OnFailure == events.FailureContinue ||
			(u.OnFailure == events.FailureRollback && !over && o.op.kind != events.OperationRollback && o.s.good != nil && o.changesBack()) {
			o.breach("is paused, and was to %s", u.OnFailure)
		}
		o.op.paused = j.at
	case events.OperationResumed:
		if o.op.paused.IsZero() {
			o.breach("goes on, and was not paused")
		}
		o.op.paused = time.Time{}
		o.begins()
	case events.OperationEnded:
		k.broke[id] = k.broke[id] || d.Outcome == events.OperationRolledBack || d.Outcome == events.OperationAborted
		o.ends(d)
		o.s.ended, o.s.op = ending{o.op.sequence, d}, nil
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
		if i.runs() && i.replaces == 0 && !o.s.upToDate(i) && i.id.Ordinal < o.s.scale {
			slots = append(slots, i.id.Ordinal)
		}
	}
	return slots
}

func (o operating) starts(sequence uint64, d events.OperationStarted) {
	if o.op != nil {
		o.breach("two operations at once")
	}
	if d.Rescale != nil {
		o.rescales(sequence, d)
		return
	}
	if o.s.rest != nil && d.Operation != events.OperationSuspend {
		o.breach("an operation of kind %s of a service that shall rest", d.Operation)
	}
	switch d.Operation {
	case events.OperationSnapshot:
		o.takesSnapshot(sequence, d)
		return
	case events.OperationSuspend:
		o.suspends(sequence, d)
		return
	case events.OperationUpdate, events.OperationRestart, events.OperationRollback, events.OperationRescale:
	}
	if o.s.topology != nil && o.s.topology.Change != nil {
		o.breach("an operation of kind %s while a change of the topology is to be taken back", d.Operation)
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

// begins follows a phase that begins.
func (o operating) begins() {
	o.op.entered, o.op.counts, o.op.epoch = o.j.at, o.j.at, o.j.epoch
}

// prolongs holds a phase to have its whole time once more where another led as it began, and a leader leads that has not said so
// before.
func (o operating) prolongs(d events.OperationProlonged) {
	op, lasts := o.op, time.Duration(o.update().HealthyDeadline)
	timed := []events.OperationPhase{"prepare", "start", "release", "acquire", "retire", "hold", "export"}
	if d.Operation != op.sequence || op.epoch == o.j.epoch || !op.paused.IsZero() || !slices.Contains(timed, op.phase) {
		o.breach("epoch %d prolongs phase %s of operation %d, which is %d, paused: %t, and has counted since epoch %d",
			o.j.epoch, op.phase, d.Operation, op.sequence, !op.paused.IsZero(), op.epoch)
	}
	if !o.j.rereading && !d.Until.Equal(o.j.at.Add(lasts)) {
		o.breach("phase %s is prolonged until %s, and has %s from %s on", op.phase, d.Until, lasts, o.j.at)
	}
	op.counts, op.epoch, op.late = o.j.at, o.j.epoch, late{}
}

// late reports whether a slot that is not done with the phase by now has failed: as long as nobody leads who has counted all that
// time, none has. Leaders of before counted what others had.
func (o operating) late() bool {
	return (o.op.epoch == o.j.epoch || o.j.rereading) && o.j.at.Sub(o.op.counts) >= time.Duration(o.update().HealthyDeadline)
}

// phases are those that the present wave goes through.
func (o operating) phases() []events.OperationPhase {
	if o.op.rescale != nil {
		return []events.OperationPhase{"prepare", "start", "release", "acquire", "retire"}
	}
	switch o.op.kind {
	case events.OperationSnapshot:
		return []events.OperationPhase{"hold", "export"}
	case events.OperationSuspend:
		return o.suspendPhases()
	case events.OperationUpdate, events.OperationRestart, events.OperationRollback, events.OperationRescale:
	}
	u, phases := o.update(), []events.OperationPhase{"start", "retire"}
	switch {
	case o.stopsFirst():
		phases = []events.OperationPhase{"retire", "start"}
	case o.allOrNone() && u.Monitor > 0:
		phases = []events.OperationPhase{"prepare", "start", "monitor", "retire"}
	case o.allOrNone():
		phases = []events.OperationPhase{"prepare", "start", "retire"}
	}
	if u.Monitor > 0 && !o.allOrNone() {
		phases = append(phases, "monitor")
	}
	if len(o.op.waiting) > 0 && o.op.wave == 1 && u.Promote == events.PromoteByCommand && o.op.kind != events.OperationRollback {
		phases = append(phases, "promote")
	}
	if len(o.op.waiting) > 0 && u.Delay > 0 {
		phases = append(phases, "delay")
	}
	return phases
}

// allOrNone reports whether nothing of before goes before all that comes is good.
func (o operating) allOrNone() bool {
	return o.update().Strategy == events.UpdateBarrier && !o.stopsFirst()
}

// stopsFirst reports whether what slots have goes before what they get comes.
func (o operating) stopsFirst() bool {
	spec := o.s.specs[o.s.revision]
	return o.update().Order == events.StopFirst || spec.Global() || volumes(spec) || spec.Topology != nil || spec.Exclusive
}

// enters holds a phase to follow the one before, once all slots are done with that.
func (o operating) enters(d events.OperationEntered) {
	op, phases := o.op, o.phases()
	if d.Operation != op.sequence || !op.paused.IsZero() {
		o.breach("operation %d enters %s, and it is %d, paused: %t", d.Operation, d.Phase, op.sequence, !op.paused.IsZero())
	}
	if o.triesAgain(d) || o.comesAgain(d) {
		return
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
	if op.rescale != nil && d.Attempt != max(op.attempt, 1) {
		o.breach("phase %s is attempt %d after attempt %d", d.Phase, d.Attempt, op.attempt)
	}
	op.wave, op.phase, op.late, op.attempt = d.Wave, d.Phase, late{}, d.Attempt
	if op.kind == events.OperationSuspend && d.Phase == events.OperationRetire && o.s.rest != nil {
		o.s.rest.stopped = true
	}
	o.begins()
	if u := o.update(); d.Phase == events.OperationStart && !o.j.rereading && !d.Until.Equal(o.j.at.Add(time.Duration(u.HealthyDeadline))) {
		o.breach("is said to start until %s, and has %s from %s on", d.Until, time.Duration(u.HealthyDeadline), o.j.at)
	}
}

// comesAgain follows an update that goes on after it was paused while what had come was watched: that comes again first.
func (o operating) comesAgain(d events.OperationEntered) bool {
	op := o.op
	if !o.allOrNone() || op.phase != events.OperationMonitor || d.Phase != events.OperationStart || d.Wave != op.wave || !op.entered.Equal(o.j.at) {
		return false
	}
	op.phase, op.late = d.Phase, late{}
	o.begins()
	return true
}

// wave holds a wave to be of as many slots as may go together, of those that wait.
func (o operating) wave(d events.OperationEntered) {
	op, u := o.op, o.update()
	most := int(u.Parallelism)
	switch {
	case u.Strategy != events.UpdateRolling, op.together():
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

func (o operating) ends(d events.OperationEnded) {
	phases, op := o.phases(), o.op
	if op.kind == events.OperationSnapshot || op.kind == events.OperationSuspend {
		if op.kind == events.OperationSuspend {
			o.endsSuspension(d)
		} else {
			o.endsSnapshot(d)
		}
		if d.Outcome != events.OperationDone {
			return
		}
	}
	switch d.Outcome {
	case events.OperationDone:
		o.passes(d.GivenUp)
		if len(op.waiting) > 0 || (op.total > 0 && op.phase != phases[len(phases)-1]) {
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
		if op.rescale != nil && !o.s.dropped && o.s.topology != nil && op.rescale.To == o.s.scale {
			o.breach("is superseded, and brings what it shall")
		}
		if op.rescale == nil && !o.s.dropped && o.s.rest == nil && op.revision == o.s.revision {
			o.breach("is superseded by nothing")
		}
	case events.OperationAborted:
		o.aborts(d.GivenUp)
	}
}
