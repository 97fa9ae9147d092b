package coordinator_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// passing matches what may differ if another round decides: sequences in the log, and the command to which a later event
// belongs. That command may have ended by then.
var passing = regexp.MustCompile(`(at sequence |"(operation|snapshot)":|Resumed:)[0-9]+| \(for command [0-9]+\)`)

// TestSmallRoundsComeToTheSame replays the transcripts with room for few events or few units in a round. Each round fills up in
// the middle of decisions, and the next round must decide the rest as the same round would have.
func TestSmallRoundsComeToTheSame(t *testing.T) {
	const largestStep, largestOfGroup = 4, 12 // events, in the transcripts
	for _, bounds := range []struct{ room, units int }{{room: largestStep}, {room: 7}, {units: 1}} {
		datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
			transcript, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			h := newHouse(t)
			h.room, h.units = bounds.room, bounds.units
			if h.room > 0 && strings.Contains(string(transcript), "command group/") {
				h.room = max(h.room, largestOfGroup)
			}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				h.t = t
				told := h.do(d)
				if slices.Equal(lasting(told), lasting(d.Expected)) {
					return d.Expected
				}
				return told
			})
		})
	}
}

// lasting returns the lines of the text without what may differ, sorted.
func lasting(told string) []string {
	told = strings.ReplaceAll(passing.ReplaceAllString(told, "$1"), "nothing\n", "")
	return slices.Sorted(strings.Lines(told))
}
