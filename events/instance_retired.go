package events

// RetireReason is why an instance must stop.
type RetireReason string

// The reasons of a retirement.
const (
	RetireScaledDown   RetireReason = "scaled-down"   // its ordinal is at or above the scale
	RetireDropped      RetireReason = "dropped"       // its service is dropped
	RetireSuspended    RetireReason = "suspended"     // its service is suspended
	RetireRevised      RetireReason = "revised"       // its revision is not the service's
	RetireMakesRoom    RetireReason = "makes-room"    // its revision is not the service's, and no node has room for its successor beside it
	RetireUnmatched    RetireReason = "unmatched"     // its global service no longer wants its node
	RetirePortConflict RetireReason = "port-conflict" // the node cannot publish one of its ports
	RetireMoved        RetireReason = "moved"         // its successor on another node serves
	RetireMoveFailed   RetireReason = "move-failed"   // it was the successor of an instance that serves, and never came to serve itself
	RetireMoveUndone   RetireReason = "move-undone"   // it was the successor of an instance that stays, as the drain of that one's node has ended
	RetireDrained      RetireReason = "drained"       // its node is drained: its successor serves, or comes once it is gone
	RetireDrainForced  RetireReason = "drain-forced"  // its node is drained, and the deadline of that has passed
	// RetireNodeForgotten is in no event: it is the reason why an instance must stop that is forgotten with its node.
	RetireNodeForgotten RetireReason = "node-forgotten"
	RetireOtherImage    RetireReason = "other-image"   // a tag stood for another image on its node than the revision has
	RetireCompleted     RetireReason = "completed"     // its slot of a job is done
	RetireFailed        RetireReason = "failed"        // it is of a job, and went offline: another takes its place after a back-off
	RetireLost          RetireReason = "lost"          // it is of a job, and was lost with its node: another takes its place
	RetireReplaced      RetireReason = "replaced"      // its job has begun a later run, or waits for one; or it was lost, and its replacement stays
	RetireReturned      RetireReason = "returned"      // the lost instance that it replaced is back, and stays
	RetireGivenUp       RetireReason = "given-up"      // more instances of its job have failed than may
	RetireCrashLooping  RetireReason = "crash-looping" // it ended more often than its spec has it restarted on a node
)

// InstanceRetired says that an instance must stop and be removed.
type InstanceRetired struct {
	Ordinal    uint32       `json:"ordinal"`
	Generation uint32       `json:"generation"`
	Reason     RetireReason `json:"reason"`
}

// Kind implements Data.
func (InstanceRetired) Kind() Kind { return v1("instance", "retired") }
