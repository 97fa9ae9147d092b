package events

import "time"

// OperationKind is what an operation does to its service.
type OperationKind string

// The kinds of operations.
const (
	OperationUpdate   OperationKind = "update"   // it brings a spec of its own
	OperationRestart  OperationKind = "restart"  // it replaces instances by others of the same spec
	OperationRollback OperationKind = "rollback" // it brings the spec of an earlier revision back
	OperationRescale  OperationKind = "rescale"  // it brings another topology, by phases of all instances together
	OperationSnapshot OperationKind = "snapshot" // it keeps what instances hold, by phases of all together
	OperationSuspend  OperationKind = "suspend"  // it keeps what instances hold, and has all of them go
)

// operationKinds has the properties of each kind that all packages need.
var operationKinds = map[OperationKind]struct{ together, snapshots bool }{
	OperationUpdate: {}, OperationRestart: {}, OperationRollback: {},
	OperationRescale:  {together: true},
	OperationSnapshot: {together: true, snapshots: true},
	OperationSuspend:  {together: true, snapshots: true},
}

// Together reports whether all slots go through the phases at once, whatever revision they have.
func (k OperationKind) Together() bool { return operationKinds[k].together }

// Snapshots reports whether it takes a snapshot, before all goes or with nothing after it.
func (k OperationKind) Snapshots() bool { return operationKinds[k].snapshots }

// OperationPhase is a step that the slots of a wave go through together: none begins the next before all are done with it.
type OperationPhase string

// The phases of a wave. A rescale has one wave of all slots, which goes through prepare, start, release, acquire and retire; a
// snapshot one that goes through hold and export, and a suspension one through these and retire.
const (
	OperationPrepare OperationPhase = "prepare" // the instances that come are made
	OperationStart   OperationPhase = "start"   // the next instances come, until they have served for min_healthy
	OperationRelease OperationPhase = "release" // every instance stops to serve what the next topology takes from it
	OperationAcquire OperationPhase = "acquire" // every instance takes what the next topology gives it, and serves that
	OperationRetire  OperationPhase = "retire"  // those before go, or those too many, until nothing is left of them
	OperationHold    OperationPhase = "hold"    // every instance writes what it holds to its volumes, and then leaves them unchanged
	OperationExport  OperationPhase = "export"  // what the volumes with state hold is kept
	OperationMonitor OperationPhase = "monitor" // the next instances are watched
	OperationPromote OperationPhase = "promote" // the canaries serve, and the update waits for the operator to promote them
	OperationDelay   OperationPhase = "delay"   // the time between two waves
	OperationWait    OperationPhase = "wait"    // all slots that are left are bound to nodes which take nothing now
)

// operationPhases has the properties of each phase that all packages need. lasts is its time limit, or its length where rests is set; nil where it
// waits for operators or nodes. rests says that slots have nothing to do in it. asks is its place among the phases of its operation in which
// instances are asked, from 1, and hook is the hook that they run.
var operationPhases = map[OperationPhase]struct {
	lasts func(Update) Duration
	rests bool
	asks  int
	hook  func(*Hooks) *Hook
}{
	OperationPrepare: {lasts: Update.healthy},
	OperationStart:   {lasts: Update.healthy},
	OperationRelease: {lasts: Update.healthy, asks: 1, hook: func(h *Hooks) *Hook { return h.Release }},
	OperationAcquire: {lasts: Update.healthy, asks: 2, hook: func(h *Hooks) *Hook { return h.Acquire }},
	OperationRetire:  {lasts: Update.healthy},
	OperationHold:    {lasts: Update.healthy, asks: 1, hook: func(h *Hooks) *Hook { return h.Snapshot }},
	OperationExport:  {lasts: Update.healthy, asks: 2},
	OperationMonitor: {lasts: func(u Update) Duration { return u.Monitor }, rests: true},
	OperationPromote: {rests: true},
	OperationDelay:   {lasts: func(u Update) Duration { return u.Delay }, rests: true},
	OperationWait:    {},
}

func (u Update) healthy() Duration { return u.HealthyDeadline }

// Rests reports whether slots have nothing to do in the phase but to wait.
func (p OperationPhase) Rests() bool { return operationPhases[p].rests }

// OperationOutcome is how an operation ended.
type OperationOutcome string

// The outcomes of an operation.
const (
	OperationDone       OperationOutcome = "done"        // every slot went through all phases
	OperationRolledBack OperationOutcome = "rolled-back" // too many slots failed: another operation brings back what was before
	OperationSuperseded OperationOutcome = "superseded"  // the service has another target by now
	// OperationAborted: an instance did not get through. After a rescale another operation brings the topology before back. An
	// aborted snapshot does not count, and an aborted suspension leaves the service as it was.
	OperationAborted OperationOutcome = "aborted"
)

// OperationStarted says that a service changes, wave by wave. Its own sequence in the log is the operation's name.
type OperationStarted struct {
	Operation OperationKind `json:"operation"`
	// Revision is what the slots get in their wave. From is what a slot gets that must be replaced before its wave; 0 for none.
	Revision uint64 `json:"revision"`
	From     uint64 `json:"from,omitzero"`
	// Slots are those that take part, in the order in which they do.
	Slots Ordinals `json:"slots"`
	// Rescale is what topology the slots get; missing where the operation brings none.
	Rescale *Rescale `json:"rescale,omitempty"`
}

// Rescale is how a topology becomes another.
type Rescale struct {
	// From is the scale of the topology in force, and To that of the next.
	From uint32 `json:"from"`
	To   uint32 `json:"to"`
	// ConfigVersion is that of the next.
	ConfigVersion uint64 `json:"config_version"`
	// Back says that the rescale undoes what a group has changed: it retries as often as any other, and then continues without the slots
	// that fail.
	Back bool `json:"back,omitzero"`
}

// OperationEntered says that a wave begins a phase. It is the first of its wave where it names the slots.
type OperationEntered struct {
	Operation uint64         `json:"operation"`
	Wave      uint32         `json:"wave"`
	Phase     OperationPhase `json:"phase"`
	// Attempt counts from 1 with each phase that a rescale tries again, and never sinks; missing for other operations.
	Attempt uint32 `json:"attempt,omitzero"`
	// Slots are those of the wave, with its first phase.
	Slots Ordinals `json:"slots,omitempty"`
	// GivenUp are the slots of the phase before that have failed: the operation no longer waits for them.
	GivenUp Ordinals `json:"given_up,omitempty"`
	// Until is when the phase ends. In a phase that waits for slots, those that are not done by then have failed, unless it is prolonged.
	// It is missing where the phase waits for operators or nodes.
	Until time.Time `json:"until,omitzero"`
}

// OperationProlonged says that a phase has its whole time once more, after a failover: while no coordinator led, none learned which slots
// were done.
type OperationProlonged struct {
	Operation uint64 `json:"operation"`
	// Until is when what the phase waits for has failed.
	Until time.Time `json:"until"`
}

// OperationPromoted says that an update continues after its canaries.
type OperationPromoted struct {
	Operation uint64 `json:"operation"`
}

// OperationPaused says that too many slots failed, and that all stays as it is.
type OperationPaused struct {
	Operation uint64   `json:"operation"`
	GivenUp   Ordinals `json:"given_up"`
	// Message is a text that says what failed.
	Message string `json:"message"`
}

// OperationResumed says that a paused update continues: its current phase begins again.
type OperationResumed struct {
	Operation uint64 `json:"operation"`
}

// OperationEnded says that an operation is over.
type OperationEnded struct {
	Operation uint64           `json:"operation"`
	Outcome   OperationOutcome `json:"outcome"`
	// GivenUp are the slots of the last phase that have failed.
	GivenUp Ordinals `json:"given_up,omitempty"`
	// Message is a text that says what failed.
	Message string `json:"message,omitempty"`
}

// Kind implements Data.
func (OperationStarted) Kind() Kind { return v1("operation", "started") }

// Kind implements Data.
func (OperationEntered) Kind() Kind { return v1("operation", "entered") }

// Kind implements Data.
func (OperationProlonged) Kind() Kind { return v1("operation", "prolonged") }

// Kind implements Data.
func (OperationPromoted) Kind() Kind { return v1("operation", "promoted") }

// Kind implements Data.
func (OperationPaused) Kind() Kind { return v1("operation", "paused") }

// Kind implements Data.
func (OperationResumed) Kind() Kind { return v1("operation", "resumed") }

// Kind implements Data.
func (OperationEnded) Kind() Kind { return v1("operation", "ended") }
