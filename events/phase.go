package events

import "strings"

// Phase is a step of an instance's life on its node. Later steps are greater.
type Phase uint8

// The phases of an instance, in order.
const (
	PhasePlaced    Phase = iota // ordered; nothing seen of it yet
	PhasePrepared               // image present, container created
	PhaseStarted                // the process runs
	PhaseOnline                 // it serves
	PhaseOffline                // it does not serve; the reason says why
	PhaseCompleted              // its process of a job ended well, and does not run again
	PhaseStopped                // it was to stop, and did
	PhaseRemoved                // nothing of it is left
)

var phaseNames = [...]string{"placed", "prepared", "started", "online", "offline", "completed", "stopped", "removed"}

// String returns the phase's name.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "invalid"
}

// MarshalText writes the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a phase's name. Its errors are *Rejection.
func (p *Phase) UnmarshalText(text []byte) error {
	for i, name := range phaseNames {
		if name == string(text) {
			*p = Phase(i)
			return nil
		}
	}
	return Reject(CodeInvalidValue, "", "%s is not a phase: known are %s", quote(string(text)), strings.Join(phaseNames[:], ", "))
}

func (p Phase) final() bool { return p >= PhaseCompleted }

// OfflineReason is why an instance does not serve.
type OfflineReason string

// The reasons of an instance that is offline.
const (
	OfflineInitializing  OfflineReason = "initializing"   // it has not come so far yet
	OfflineExited        OfflineReason = "exited"         // its process ended; the exit code says how
	OfflineOOMKilled     OfflineReason = "oom-killed"     // the kernel killed its process for want of memory
	OfflineOverDisk      OfflineReason = "over-disk"      // it has taken more of the disk than its limit; the node stopped it
	OfflineUnhealthy     OfflineReason = "unhealthy"      // its process runs, and its health check fails
	OfflineImagePull     OfflineReason = "image-pull"     // the image cannot be had
	OfflinePortConflict  OfflineReason = "port-conflict"  // something else on the node holds one of its ports
	OfflineCreateFailed  OfflineReason = "create-failed"  // the container cannot be created or started
	OfflineInitFailed    OfflineReason = "init-failed"    // its init container ended with an error; the exit code says how
	OfflineNotAllowed    OfflineReason = "not-allowed"    // the node does not allow what the spec wants of its host
	OfflineSecretMissing OfflineReason = "secret-missing" // the node does not have one of its secrets
	OfflineConfigMissing OfflineReason = "config-missing" // the bus does not have one of its configs
	OfflineConfigSize    OfflineReason = "config-size"    // one of its configs is empty, or larger than a config may be
	OfflineConfigUnread  OfflineReason = "config-unread"  // the bus does not tell one of its configs now
	OfflineDisconnected  OfflineReason = "disconnected"   // it is exclusive, and its node got no answer to heartbeats for too long: the node ended it
	OfflineUnknown       OfflineReason = "unknown"        // its container is gone
)

// HasRun reports whether the reason is one of an attempt whose container has run.
func (r OfflineReason) HasRun() bool {
	switch r {
	case OfflineExited, OfflineOOMKilled, OfflineOverDisk, OfflineUnhealthy, OfflineInitFailed:
		return true
	case OfflineInitializing, OfflineImagePull, OfflinePortConflict, OfflineCreateFailed, OfflineNotAllowed, OfflineSecretMissing,
		OfflineConfigMissing, OfflineConfigSize, OfflineConfigUnread, OfflineDisconnected, OfflineUnknown:
	}
	return false
}
