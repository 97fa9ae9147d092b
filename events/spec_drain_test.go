package events

import "testing"

func TestTheDrainDelayIsOneSecondWhereAPortIsServed(t *testing.T) {
	port := []Port{{Name: "http", Port: 80}}
	for said, want := range map[string]Duration{"": DefaultDrainDelay, "1s": DefaultDrainDelay, "0s": 0, "1m": 60 * DefaultDrainDelay} {
		s := Spec{Image: "a", Ports: port}
		if said != "" {
			s.DrainDelay = new(Duration)
			if err := s.DrainDelay.UnmarshalText([]byte(said)); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.DrainsFor(); got != want {
			t.Errorf("%q: it serves on for %d, want %d", said, got, want)
		}
		isDefault := want == DefaultDrainDelay
		if same := s.Hash() == (Spec{Image: "a", Ports: port}).Hash(); same != isDefault {
			t.Errorf("%q: it has the hash of a spec without drain_delay: %t", said, same)
		}
		if level, field := s.Newest(); (level == 0) != isDefault || (field == "") != isDefault {
			t.Errorf("%q: field %q came with level %d", said, field, level)
		}
		s.Update = &Update{HealthyDeadline: 1_000_000}
		if got := s.DrainsFor(); got != min(want, 500_000) {
			t.Errorf("%q: an update that waits for 1ms leaves it %d", said, got)
		}
		if s.Ports = nil; s.DrainsFor() != 0 {
			t.Errorf("%q: it serves on without ports", said)
		}
	}
}
