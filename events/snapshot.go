package events

import (
	"encoding/hex"
	"strconv"
	"time"
)

// SnapshotRequested says that a command or the spec asks for a snapshot of a service.
type SnapshotRequested struct {
	// Scheduled is when it was due by the spec; missing where a command asks for it.
	Scheduled time.Time `json:"scheduled,omitzero"`
}

// SnapshotSkipped says that a snapshot was due by the spec while something else happened to the service, and is left out.
type SnapshotSkipped struct {
	Scheduled time.Time `json:"scheduled"`
}

// SnapshotCancelled says that the requested snapshot is no longer to be taken.
type SnapshotCancelled struct{}

// SnapshotCommitted says that every instance has done its part: from here on the snapshot is the service's last good one. The contents of
// the volumes are in the instance.confirmed events of the operation.
type SnapshotCommitted struct {
	Operation uint64 `json:"operation"`
	// Version climbs by one with every snapshot of the service.
	Version uint64 `json:"version"`
	// Revision, Scale and ConfigVersion are those that the service had; ConfigVersion is missing without a topology.
	Revision      uint64 `json:"revision"`
	Scale         uint32 `json:"scale"`
	ConfigVersion uint64 `json:"config_version,omitzero"`
}

// Kind implements Data.
func (SnapshotRequested) Kind() Kind { return v1("snapshot", "requested") }

// Kind implements Data.
func (SnapshotSkipped) Kind() Kind { return v1("snapshot", "skipped") }

// Kind implements Data.
func (SnapshotCancelled) Kind() Kind { return v1("snapshot", "cancelled") }

// Kind implements Data.
func (SnapshotCommitted) Kind() Kind { return v1("snapshot", "committed") }

// Export is what a volume held as a snapshot was taken.
type Export struct {
	// Volume is its name in the spec.
	Volume string `json:"volume"`
	// Digest is the SHA-256 of the content, a tar archive, in hexadecimal: the name of the object in rookery_volumes.
	Digest string `json:"digest"`
	// Size is that of the archive in bytes.
	Size int64 `json:"size"`
}

func (e Export) check() error {
	if err := checkName("exports.volume", e.Volume); err != nil {
		return err
	}
	if sum, err := hex.DecodeString(e.Digest); err != nil || len(sum) != 32 {
		return Reject(CodeInvalidValue, "exports.digest", "exports.digest %s is not a SHA-256 in hexadecimal", quote(e.Digest))
	}
	return nil
}

// Ask is what an instance is asked in a phase of a snapshot.
type Ask struct {
	Operation uint64 `json:"operation"`
	// Phase is hold or export.
	Phase OperationPhase `json:"phase"`
	// Version is the one that the snapshot gets.
	Version uint64 `json:"version"`
}

// Confirmed is the answer of an instance that has done it.
func (a Ask) Confirmed() Confirmation { return Confirmation{Operation: a.Operation, Phase: a.Phase} }

// Variables are what a hook's command finds in its environment.
func (a Ask) Variables() []string {
	return []string{
		"ROOKERY_OPERATION=" + strconv.FormatUint(a.Operation, 10),
		"ROOKERY_PHASE=" + string(a.Phase),
		"ROOKERY_SNAPSHOT=" + strconv.FormatUint(a.Version, 10),
	}
}
