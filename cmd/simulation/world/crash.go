package world

import (
	"fmt"
	"strings"
	"time"
)

// sayMore adds further fields to the specs of the plan, and draws images that crash.
func (d *drawer) sayMore() {
	d.beforeStops()
	d.crashing()
	d.exclusives()
}

// crashing adds restart limits to the specs of some plans, and draws times at which images crash.
func (d *drawer) crashing() {
	const share, often, mean, lasts = 2, 2, 15 * time.Minute, 20 * time.Minute
	if d.IntN(share) > 0 {
		return
	}
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind != Command || !strings.HasSuffix(a.Subject, ".ensure") || strings.Contains(a.Body, `"restart"`) || d.IntN(often) > 0 {
			continue
		}
		window := []string{"", `,"window":"10m"`}[d.IntN(2)]
		a.Body = strings.Replace(a.Body, `"image":`,
			fmt.Sprintf(`"restart":{"delay":"%ds","max_delay":"2m","attempts":%d%s},"image":`, 1+d.IntN(20), 1+d.IntN(3), window), 1)
	}
	for at := d.soon(mean); at < d.plan.Lasts; at += d.soon(mean) {
		d.plan.Actions = append(d.plan.Actions, Action{At: at, Kind: BadImage, For: d.soon(lasts), N: d.IntN(len(images))})
	}
}
