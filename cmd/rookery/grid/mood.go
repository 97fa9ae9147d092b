package grid

import "strconv"

// Mood is the state of an object in one word, which operators see as a colour.
type Mood int

// The moods.
const (
	Neutral  Mood = iota
	Good          // healthy
	Changing      // in progress, or in need of attention
	Bad           // failed, lost or degraded
	Quiet         // suspended, or ended
)

// Colours are from the 256-colour palette, because themes do not change those. Each has a contrast of at least 3.8 with both black and
// white, so that it is readable on either.
var colours = map[Mood]int{Good: 28, Changing: 130, Bad: 160, Quiet: 243}

// Paint returns the text in the mood's colour.
func (m Mood) Paint(text string) string {
	colour, ok := colours[m]
	if !ok || text == "" {
		return text
	}
	return "\x1b[38;5;" + strconv.Itoa(colour) + "m" + text + "\x1b[39m"
}
