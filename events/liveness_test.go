package events

import (
	"errors"
	"testing"
	"time"
)

// TestWhatIsTheDefaultOfLivenessIsLeftOut holds policies and specs that write the defaults out to be those that say nothing: policies from
// before keep their meaning, and specs their hashes.
func TestWhatIsTheDefaultOfLivenessIsLeftOut(t *testing.T) {
	lost, silent, ratio := DefaultLostAfter, Duration(20*time.Second), DefaultMaxSilent
	if p := (ClusterPolicy{Liveness: &AskLiveness{LostAfter: &lost, MaxSilent: &ratio}}).Policy(); p != DefaultPolicy() {
		t.Errorf("the defaults are %+v, want %+v", p.Liveness, DefaultPolicy().Liveness)
	}
	want := Liveness{SilentAfter: silent, LostAfter: lost, MaxSilent: ratio}
	if p := (ClusterPolicy{Liveness: &AskLiveness{SilentAfter: &silent}}).Policy(); p.Liveness != want {
		t.Errorf("with one of its own it is %+v, want %+v", p.Liveness, want)
	}
	plain, said := Spec{Image: "a"}, Spec{Image: "a", DisconnectSpec: DisconnectSpec{&Disconnect{Reconcile: ReconcileLongestRunning}}}
	if plain.Hash() != said.Hash() {
		t.Error("a spec that says what is the default anyway has another hash")
	}
	said.Disconnect.LostAfter = Duration(time.Second)
	if plain.Hash() == said.Hash() {
		t.Error("a spec with a time of its own has the hash of one without")
	}
}

// TestOneHeartbeatThatGoesAstrayMakesNoNodeSilent holds the time to be longer than one heartbeat and its answer take.
func TestOneHeartbeatThatGoesAstrayMakesNoNodeSilent(t *testing.T) {
	const beat = 5 * time.Second
	for given, want := range map[time.Duration]time.Duration{0: 3 * beat, time.Second: 2 * beat, 2 * beat: 2 * beat, time.Minute: time.Minute} {
		if got := (Liveness{SilentAfter: Duration(given)}).Silence(beat); got != want {
			t.Errorf("with %s it is %s, want %s", given, got, want)
		}
	}
}

// TestMoreThanAShareOfSilentNodesPausesEvictions holds the share itself to be allowed.
func TestMoreThanAShareOfSilentNodesPausesEvictions(t *testing.T) {
	for _, row := range []struct {
		share         Ratio
		silent, nodes uint32
		want          bool
	}{{0, 0, 0, false}, {0, 1, 1, true}, {0, 1, 2, false}, {0, 2, 3, true}, {0.2, 1, 5, false}, {0.2, 1, 4, true}, {1, 4, 4, false}} {
		if got := (Liveness{MaxSilent: row.share}).Pauses(row.silent, row.nodes); got != row.want {
			t.Errorf("%+v: %t", row, got)
		}
	}
}

// TestDisconnectIsChecked names what is wrong by its field.
func TestDisconnectIsChecked(t *testing.T) {
	for field, d := range map[string]Disconnect{
		"disconnect.lost_after": {LostAfter: Duration(time.Millisecond)}, "disconnect.reconcile": {Reconcile: "newest"},
	} {
		var r *Rejection
		if err := (Spec{Image: "a", DisconnectSpec: DisconnectSpec{&d}}).check(); !errors.As(err, &r) || r.Field != field {
			t.Errorf("%+v: %v, want a rejection of %s", d, err, field)
		}
	}
	if err := (Spec{Image: "a", DisconnectSpec: DisconnectSpec{&Disconnect{LostAfter: MaxLostAfter}}}).check(); err != nil {
		t.Error(err)
	}
}
