package world

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
)

// zoneHours are the time zones that people speak of, and how many hours they are ahead of UTC in January.
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

// latestRun returns the last time since the run before at which the job was due; the zero time where it was not.
func (s *service) latestRun(now time.Time) time.Time {
	spec := s.specs[s.revision].Job
	var every, first, last, ahead int
	if spec == nil {
		return time.Time{}
	}
	if n, _ := fmt.Sscanf(spec.Schedule, "*/%d %d-%d * * *", &every, &first, &last); n == 0 {
		return time.Time{}
	}
	for _, z := range zoneHours {
		if z.name == spec.TimeZone {
			ahead = z.hours
		}
	}
	for t := now.Truncate(time.Minute); t.After(s.job.scheduled); t = t.Add(-time.Minute) {
		local := t.UTC().Add(time.Duration(ahead) * time.Hour)
		if local.Minute()%every == 0 && local.Hour() >= first && local.Hour() <= last {
			return t
		}
	}
	return time.Time{}
}

// ran holds a run to be due, the latest of those that are, and to fit the policy for overlaps.
func (k *knowledge) ran(j *judge, id events.ServiceID, run uint64, at time.Time, skipped bool) {
	s := k.service(id)
	if latest := s.latestRun(j.at); !at.Equal(latest) {
		j.breach("jobs", "a run of %s is of %s, and the last that is due is of %s", id, at, latest)
		return
	}
	spec, works := s.specs[s.revision].Job, !s.idle() && !s.allDone() && !s.givenUp()
	switch {
	case skipped && (run != s.job.run || !works || spec.Overlap != events.OverlapForbid):
		j.breach("jobs", "a run of %s is left out beside run %d, which does not forbid it", id, run)
	case !skipped && (run != s.job.run+1 || (works && spec.Overlap == events.OverlapForbid)):
		j.breach("jobs", "run %d of %s begins beside run %d, which forbids it", run, id, s.job.run)
	case skipped:
		s.job.scheduled = at
	default:
		k.letGo(id)
		clear(s.had)
		s.job = job{run: run, scheduled: at, moved: j.at, done: map[uint32]bool{}}
	}
}

// due holds a leader to begin runs, or leave them out, once they are due.
func (s *service) due(j *judge, id events.ServiceID, epoch uint64, now time.Time) {
	latest := s.latestRun(now)
	switch {
	case s.dropped || latest.IsZero():
		s.job.owed = late{}
	case s.job.owed.left(epoch, now):
		j.breach("jobs", "a run of %s is due since %s", id, latest)
	}
}
