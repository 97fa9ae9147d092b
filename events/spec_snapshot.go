package events

import (
	"fmt"
	"slices"
	"time"
)

// Limits of snapshots.
const (
	// MaxSnapshotScale bounds services with snapshots: all their instances hold still together.
	MaxSnapshotScale = 256
	MinSnapshotEvery = Duration(time.Minute)
	MaxSnapshotEvery = Duration(366 * 24 * time.Hour)
	// KeptSnapshots is how many snapshots of a service are kept: those before go.
	KeptSnapshots = 5
)

// SnapshotSpec says when snapshots of a service are taken. Volumes with state and hooks.snapshot decide what they hold.
type SnapshotSpec struct {
	// Snapshot says when the coordinator takes snapshots, beside those that the command snapshot asks for. The last 5 are kept.
	Snapshot *SnapshotRules `json:"snapshot,omitempty"`
}

// SnapshotRules say when snapshots are taken.
type SnapshotRules struct {
	// Every is the time from one to the next, 1m at least. One that is due while something else happens to the service is
	// left out.
	Every Duration `json:"every"`
}

// Snapshots reports whether a snapshot of the service's instances holds anything.
func (s Spec) Snapshots() bool {
	return s.Hook(OperationHold) != nil || len(s.StateVolumes()) > 0
}

// StateVolumes returns the volumes that snapshots keep.
func (s VolumeSpec) StateVolumes() []Volume {
	var state []Volume
	for _, v := range s.Volumes {
		if v.State {
			state = append(state, v)
		}
	}
	return state
}

// canonical leaves out what says nothing.
func (s SnapshotSpec) canonical() SnapshotSpec {
	if s.Snapshot != nil {
		rules := *s.Snapshot
		s.Snapshot = &rules
	}
	return s
}

func (s Spec) checkSnapshot() error {
	if s.Snapshots() && s.Mode != "" && s.Mode != ModeReplicated {
		field := "hooks.snapshot"
		if i := slices.IndexFunc(s.Volumes, func(v Volume) bool { return v.State }); i >= 0 {
			field = fmt.Sprintf("volumes[%d].state", i)
		}
		return Reject(CodeInvalidValue, field, "%s is given, and mode is %s: only replicated services have snapshots", field, s.Mode)
	}
	if s.Snapshot == nil {
		return nil
	}
	if !s.Snapshots() {
		return Reject(CodeMissingField, "volumes", "snapshot is given, and nothing says what a snapshot holds: give a volume \"state\":true, or add hooks.snapshot")
	}
	if every := s.Snapshot.Every; every < MinSnapshotEvery || every > MaxSnapshotEvery {
		return Reject(CodeOutOfRange, "snapshot.every", "snapshot.every %s is not between %s and %s",
			time.Duration(every), time.Duration(MinSnapshotEvery), time.Duration(MaxSnapshotEvery))
	}
	return nil
}

// checkSnapshotScale refuses scales beyond what a service with snapshots may have.
func (s Spec) checkSnapshotScale(scale uint32) error {
	if s.Snapshots() && scale > MaxSnapshotScale {
		return Reject(CodeOutOfRange, "scale", "scale %d is more than %d, and the service has snapshots: all its instances hold still together",
			scale, MaxSnapshotScale)
	}
	return nil
}
