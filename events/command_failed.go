package events

// FailureReason is why an accepted command failed.
type FailureReason string

// The reasons of a failure.
const (
	// ReasonDeadline: the progress deadline passed. The service keeps the target that the command set.
	ReasonDeadline FailureReason = "progress-deadline"
	// ReasonInboxLost: the stream that held the command was deleted, and another was adopted in its place.
	ReasonInboxLost FailureReason = "inbox-lost"
	// ReasonBackoffLimit: more instances of the job have failed than may. Nothing more of this revision is placed.
	ReasonBackoffLimit FailureReason = "backoff-limit"
	// ReasonPaused: too many slots failed, and the update is paused. The service keeps the target that the command set.
	ReasonPaused FailureReason = "update-paused"
	// ReasonRolledBack: too many slots failed, and the service returns to its last healthy revision and scale.
	ReasonRolledBack FailureReason = "rolled-back"
	// ReasonAborted: an instance did not get through a phase of a rescale, and the topology before it comes back.
	ReasonAborted FailureReason = "rescale-aborted"
	// ReasonSnapshotFailed: an instance has not done its part of a snapshot, and the one before stays the last good one.
	ReasonSnapshotFailed FailureReason = "snapshot-failed"
	// ReasonSuspendFailed: an instance has not done its part of the snapshot that comes first, and the service runs on as before.
	ReasonSuspendFailed FailureReason = "suspend-failed"
	// ReasonStillThere: instances that were to go have not gone in time. The service is suspended all the same, and they go once
	// their nodes get it done.
	ReasonStillThere FailureReason = "still-there"
	// ReasonGroupAborted: a service of the group did not reach its target, and all services get their earlier targets back.
	ReasonGroupAborted FailureReason = "group-aborted"
	// ReasonDrainDeadline: a node had instances still a while after all of them were told to stop. Its drain continues.
	ReasonDrainDeadline FailureReason = "drain-deadline"
	// ReasonRefused: when the command's turn came, the service was not as it asked for any more.
	ReasonRefused FailureReason = "refused"
	// ReasonInternal: the coordinator cannot decide the command, because of a defect of its own. The service keeps the target that the
	// command set.
	ReasonInternal FailureReason = "internal"
)

// CommandFailed ends an accepted command that was not satisfied. The service keeps the target that the command set, unless the reason says
// otherwise.
type CommandFailed struct {
	Sequence uint64        `json:"sequence"`
	Reason   FailureReason `json:"reason"`
	// Message is a text that says what was still missing.
	Message string `json:"message"`
}

// Kind implements Data.
func (CommandFailed) Kind() Kind { return v1("command", "failed") }

// CommandSequence returns the command's sequence.
func (c CommandFailed) CommandSequence() uint64 { return c.Sequence }
