package events

import (
	"encoding"
	"testing"
)

// TestValuesAreWrittenAsPeopleReadThem holds what is written as text to read back, and to say so in both ways.
func TestValuesAreWrittenAsPeopleReadThem(t *testing.T) {
	for want, value := range map[string]interface {
		encoding.TextMarshaler
		String() string
	}{
		"64MiB": Size(64 << 20), "1GiB": Size(1 << 30), "1TiB": Size(1 << 40), "1025B": Size(1025), "0B": Size(0),
		"500m": CPU(500), "2": CPU(2000), "placed": PhasePlaced, "removed": PhaseRemoved, "invalid": PhaseRemoved + 1,
	} {
		text, err := value.MarshalText()
		if err != nil || string(text) != want || value.String() != want {
			t.Errorf("%T is written as %q and %q, want %q (%v)", value, text, value.String(), want, err)
		}
	}
}

// TestAnEngineIsDescribedAsFarAsItIsKnown holds the words about a node's engine.
func TestAnEngineIsDescribedAsFarAsItIsKnown(t *testing.T) {
	for want, facts := range map[string]EngineFacts{
		"podman 5.8.6": {Engine: "podman 5.8.6"},
		"podman 5.8.6, crun, rootful, cgroups v2": {Engine: "podman 5.8.6", Runtime: "crun", Cgroups: CgroupsV2},
		"podman 5.8.6, runc, rootless":            {Engine: "podman 5.8.6", Runtime: "runc", Rootless: true},
		"podman 4.3.1, cgroups hybrid":            {Engine: "podman 4.3.1", Cgroups: CgroupsHybrid},
	} {
		if got := facts.Words(); got != want {
			t.Errorf("%+v is described as %q, want %q", facts, got, want)
		}
	}
}
