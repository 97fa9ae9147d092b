package grid

import "strconv"

// Mood says how things are, for people to see at a glance.
type Mood int

// The moods.
const (
	Neutral  Mood = iota
	Good          // as it should be
	Changing      // on its way, or to be looked at
	Bad           // not as it should be
	Quiet         // at rest, or over
)

// Colours are of the 256 that terminals do not let themes change. Each is about as far from black as from white, so that it can be
// read on both: its contrast with either is 3.8 or more.
var colours = map[Mood]int{Good: 28, Changing: 130, Bad: 160, Quiet: 243}

// Paint has a text be in the mood's colour.
func (m Mood) Paint(text string) string {
	colour, ok := colours[m]
	if !ok || text == "" {
		return text
	}
	return "\x1b[38;5;" + strconv.Itoa(colour) + "m" + text + "\x1b[39m"
}
