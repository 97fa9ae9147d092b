package events

import "testing"

func TestPositionsClimb(t *testing.T) {
	at := func(epoch uint64, attempt uint32, phase Phase) Position {
		return Position{Epoch: epoch, Attempt: attempt, Phase: phase}
	}
	for _, tt := range []struct {
		name   string
		p, o   Position
		pAbove bool
	}{
		{name: "a later phase", p: at(1, 0, PhaseStarted), o: at(1, 0, PhasePrepared), pAbove: true},
		{name: "a later attempt at an earlier phase", p: at(1, 1, PhasePrepared), o: at(1, 0, PhaseOffline), pAbove: true},
		{name: "a later epoch at an earlier phase", p: at(2, 0, PhasePlaced), o: at(1, 9, PhaseRemoved), pAbove: true},
		{name: "stopped ends all attempts", p: at(1, 0, PhaseStopped), o: at(1, 5, PhaseOnline), pAbove: true},
		{name: "completed ends all attempts", p: at(1, 0, PhaseCompleted), o: at(1, 5, PhaseOffline), pAbove: true},
		{name: "stopped comes after completed", p: at(1, 0, PhaseStopped), o: at(1, 0, PhaseCompleted), pAbove: true},
		{name: "removed comes after stopped of a later attempt", p: at(1, 0, PhaseRemoved), o: at(1, 5, PhaseStopped), pAbove: true},
		{name: "nothing comes after removed", p: at(1, 0, PhaseRemoved), o: at(1, 9, PhaseOnline), pAbove: true},
		{name: "stopped is stopped in any attempt", p: at(1, 0, PhaseStopped), o: at(1, 5, PhaseStopped)},
		{name: "a repeat", p: at(1, 1, PhaseOnline), o: at(1, 1, PhaseOnline)},
	} {
		if got := tt.p.Above(tt.o); got != tt.pAbove {
			t.Errorf("%s: above = %v", tt.name, got)
		}
		if got := tt.o.Above(tt.p); got {
			t.Errorf("%s: the other way round: above = %v", tt.name, got)
		}
	}
}

// TestPositionsAreAStrictOrder holds Above to what "status only climbs" needs: duplicates and reordering change nothing.
func TestPositionsAreAStrictOrder(t *testing.T) {
	var all []Position
	for epoch := range uint64(3) {
		for attempt := range uint32(3) {
			for phase := PhasePlaced; phase <= PhaseRemoved; phase++ {
				all = append(all, Position{Epoch: epoch, Attempt: attempt, Phase: phase})
			}
		}
	}
	for _, a := range all {
		if a.Above(a) {
			t.Errorf("%+v is above itself", a)
		}
		for _, b := range all {
			if a.Above(b) && b.Above(a) {
				t.Errorf("%+v and %+v are above each other", a, b)
			}
			for _, c := range all {
				if a.Above(b) && b.Above(c) && !a.Above(c) {
					t.Errorf("%+v is above %+v, that above %+v, but not the first above the last", a, b, c)
				}
			}
		}
	}
}

func TestPhasesReadBack(t *testing.T) {
	for phase := PhasePlaced; phase <= PhaseRemoved; phase++ {
		text, err := phase.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got Phase
		if err := got.UnmarshalText(text); err != nil || got != phase {
			t.Errorf("%s reads as %s, %v", phase, got, err)
		}
	}
	var p Phase
	wantRejection(t, p.UnmarshalText([]byte("Online")), CodeInvalidValue, "", "online")
	if got := Phase(99).String(); got != "invalid" {
		t.Errorf("a phase beyond all is %q", got)
	}
}
