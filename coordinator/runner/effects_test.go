package runner

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/projections"
)

// TestWhatIsForgotten has commands be forgotten by their age and number. One that is open holds back no other: the fold keeps it by itself.
func TestWhatIsForgotten(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	old, young := now.Add(-25*time.Hour), now.Add(-time.Minute)
	type command struct {
		sequence uint64
		received time.Time
		outcome  projections.Outcome
	}
	for name, c := range map[string]struct {
		commands     []command
		cursor, kept uint64
		want         uint64
	}{
		"nothing was asked":             {nil, 0, 0, 1},
		"all is young":                  {[]command{{3, young, projections.Succeeded}, {4, young, projections.Rejected}}, 4, 0, 3},
		"one is old":                    {[]command{{3, old, projections.Succeeded}, {4, young, projections.Rejected}}, 4, 0, 4},
		"all are old":                   {[]command{{3, old, projections.Succeeded}, {4, old, projections.Failed}}, 4, 0, 5},
		"one is open":                   {[]command{{3, old, projections.Accepted}, {4, old, projections.Failed}, {5, young, projections.Failed}}, 5, 0, 5},
		"what is open has too many":     {[]command{{3, young, projections.Accepted}, {300_000, young, projections.Failed}}, 300_000, 0, 100_001},
		"too many are young":            {[]command{{1, young, projections.Succeeded}, {200_001, young, projections.Failed}}, 200_001, 0, 2},
		"as many as there may be":       {[]command{{1, young, projections.Succeeded}, {200_000, young, projections.Failed}}, 200_000, 0, 1},
		"it was forgotten further once": {[]command{{3, young, projections.Accepted}}, 4, 9, 9},
	} {
		state := projections.NewCluster()
		state.CommandsKept = c.kept
		for _, cmd := range c.commands {
			state.Commands[cmd.sequence] = &projections.Command{Received: cmd.received, Outcome: cmd.outcome}
		}
		if got := forgettable(state, c.cursor, now); got != c.want {
			t.Errorf("%s: below %d all is forgotten, want %d", name, got, c.want)
		}
	}
}
