package events

import "testing"

// TestOfHeadersThatDifferInCaseTheExactOneCounts holds what is read of a message to be the same each time.
func TestOfHeadersThatDifferInCaseTheExactOneCounts(t *testing.T) {
	h := Header{"CE-ID": {"upper"}, "ce-id": {"exact"}, "Ce-Id": {"title"}, "CE-Source": {"first"}, "Ce-Source": {"second"}, "ce-empty": {}}
	for name, want := range map[string]string{"ce-id": "exact", "CE-ID": "upper", "ce-source": "first", "ce-empty": "", "ce-none": ""} {
		for range 20 {
			if got := h.Get(name); got != want {
				t.Fatalf("%s is %q, want %q", name, got, want)
			}
		}
	}
}

// TestOperatorsScaleReplicatedServicesAlone holds the other modes to say themselves how many instances there are.
func TestOperatorsScaleReplicatedServicesAlone(t *testing.T) {
	for mode, want := range map[Mode]bool{"": true, ModeReplicated: true, ModeGlobal: false, ModeJob: false} {
		if got := (Spec{Image: "i", Mode: mode}).Scaled(); got != want {
			t.Errorf("mode %q is scaled: %t, want %t", mode, got, want)
		}
	}
}
