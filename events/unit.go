package events

import "strconv"

// Work says what a round does for a unit.
type Work string

// The kinds of work, each of which can fail without the others.
const (
	WorkCommand   Work = "command"   // decide on a command
	WorkStatus    Work = "status"    // take in a status of a node
	WorkReconcile Work = "reconcile" // bring a service, a group or a node closer to what is wanted
	WorkDue       Work = "due"       // do what time has made due
	WorkLiveness  Work = "liveness"  // decide what follows from nodes that are silent, or send heartbeats again
	WorkFailover  Work = "failover"  // take over what leaders before have begun
	WorkRebalance Work = "rebalance" // begin or end a move
)

// Works are all of them that a unit can be shunned with for longer than a moment.
var Works = []Work{WorkReconcile, WorkDue, WorkLiveness, WorkFailover, WorkRebalance}

// Unit is what a round works on at a time: one kind of work for one service, group or node, or for the cluster. Each unit fails alone: the
// coordinator shuns a unit that it cannot decide, and continues with all others.
type Unit struct {
	Work  Work
	Scope Scope
	// Sequence is that of the command or status; 0 where the unit is of none.
	Sequence uint64
}

// String returns the unit as operators read it, as in "reconcile of service demo/web".
func (u Unit) String() string {
	text := string(u.Work) + " of " + u.Scope.String()
	if u.Sequence > 0 {
		text += " (" + strconv.FormatUint(u.Sequence, 10) + ")"
	}
	return text
}

// UnitShunned says that the coordinator cannot decide a unit because of a defect of its own. The coordinator leaves the unit alone until
// its input changes or another coordinator leads. The unit is that of the event's subject. All other units continue.
type UnitShunned struct {
	Work     Work   `json:"work"`
	Sequence uint64 `json:"sequence,omitzero"`
	// Message says what failed.
	Message string `json:"message"`
}

// Kind implements Data.
func (UnitShunned) Kind() Kind { return v1("unit", "shunned") }

// UnitRetried says that the coordinator tries a unit again that was shunned.
type UnitRetried struct {
	Work     Work   `json:"work"`
	Sequence uint64 `json:"sequence,omitzero"`
}

// Kind implements Data.
func (UnitRetried) Kind() Kind { return v1("unit", "retried") }
