package world

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// drainDelays gives the services of some plans a delay of their own between the withdrawal of an instance's endpoints and its stop.
func (d *drawer) drainDelays() {
	const sequence, share, often, longest = 1100, 3, 2, 30
	d.Rand = rand.New(rand.NewPCG(d.plan.Seed, sequence))
	if d.IntN(share) > 0 {
		return
	}
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind == Command && strings.HasPrefix(a.Subject, events.CommandRoot+".service.") && strings.HasSuffix(a.Subject, ".ensure") && d.IntN(often) == 0 {
			a.Body = strings.Replace(a.Body, `"image":`, fmt.Sprintf(`"drain_delay":"%ds","image":`, d.IntN(longest)), 1)
		}
	}
}
