package events

import (
	"testing"
	"time"
)

// stateful is a spec whose snapshots hold something.
func stateful() Spec {
	return Spec{Image: "i", VolumeSpec: VolumeSpec{Volumes: []Volume{{Name: "cache", Path: "/cache"}, {Name: "data", Path: "/data", State: true}}}}
}

func TestSnapshotsThatASpecCannotHave(t *testing.T) {
	for _, tt := range []struct {
		change func(*Spec)
		code   Code
		field  string
		says   string
	}{
		{func(s *Spec) { s.Snapshot.Every = MinSnapshotEvery - 1 }, CodeOutOfRange, "snapshot.every", "59.999999999s is not between 1m0s and 8784h0m0s"},
		{func(s *Spec) { s.Snapshot.Every = MaxSnapshotEvery + 1 }, CodeOutOfRange, "snapshot.every", "is not between"},
		{func(s *Spec) { s.Volumes = nil }, CodeMissingField, "volumes", "nothing says what a snapshot holds"},
		{func(s *Spec) { s.Mode = ModeGlobal }, CodeInvalidValue, "volumes[1].state", "mode is global"},
		{func(s *Spec) { s.Volumes, s.Hooks, s.Mode = nil, &Hooks{Snapshot: &Hook{Signal: "SIGHUP"}}, ModeGlobal }, CodeInvalidValue, "hooks.snapshot", "mode is global"},
		{func(s *Spec) { s.Volumes[1].Kind = VolumeTmpfs }, CodeInvalidValue, "volumes[1].state", "is only for kind volume"},
		{func(s *Spec) { s.Hooks = &Hooks{Snapshot: &Hook{}} }, CodeInvalidValue, "hooks.snapshot", "0 of signal, exec and http"},
	} {
		spec := stateful()
		spec.Snapshot = &SnapshotRules{Every: Duration(time.Hour)}
		if err := spec.check(); err != nil {
			t.Fatal(err)
		}
		tt.change(&spec)
		wantRejection(t, spec.check(), tt.code, tt.field, tt.says)
	}
}

func TestAScaleThatSnapshotsCannotHave(t *testing.T) {
	spec := stateful()
	if err := spec.CheckScale(MaxSnapshotScale); err != nil {
		t.Error(err)
	}
	wantRejection(t, spec.CheckScale(MaxSnapshotScale+1), CodeOutOfRange, "scale", "more than 256")
}
