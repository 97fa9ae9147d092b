package world

import (
	"fmt"

	"github.com/rookery-project/rookery/events"
)

// zoneHours lists the time zones of schedules, and how many hours each is ahead of UTC in January.
var zoneHours = []struct {
	name  string
	hours int
}{{"UTC", 0}, {"Europe/Berlin", 1}, {"America/New_York", -5}}

// schedule draws when runs of a job are due: every few minutes of the whole hours that the plan lasts.
func (d *drawer) schedule() string {
	const share, day = 3, 24
	hours := int(d.plan.Lasts.Hours())
	if d.IntN(share) > 0 || hours == 0 {
		return ""
	}
	z := zoneHours[d.IntN(len(zoneHours))]
	first := (z.hours + day) % day
	return fmt.Sprintf(`,"schedule":"*/%d %d-%d * * *","time_zone":%q,"overlap":%q`, 2+d.IntN(9), first, first+hours-1, z.name,
		[]events.Overlap{events.OverlapForbid, events.OverlapReplace}[d.IntN(2)])
}
