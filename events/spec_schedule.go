package events

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Overlap is what becomes of a run of a job that is due while the one before has not ended.
type Overlap string

// The policies for overlaps.
const (
	OverlapForbid  Overlap = "forbid"
	OverlapReplace Overlap = "replace"
)

// DefaultTimeZone is that of schedules which name none.
const DefaultTimeZone = "UTC"

const maxSchedule = 256 // bytes

// errSchedule is what a schedule is refused for beyond what the parser finds.
var errSchedule = errors.New("only @yearly, @monthly, @weekly, @daily and @hourly stand for the five fields, and time_zone says the zone")

// parseSchedule reads five fields of cron, or one of the words for them. It refuses the other forms that the parser takes: those ask the
// host for time zones, or have intervals that begin at any time.
func parseSchedule(text string) (*cron.SpecSchedule, error) {
	if strings.HasPrefix(text, "@every") || strings.Contains(text, "=") {
		return nil, errSchedule
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(text)
	if err != nil {
		return nil, err
	}
	schedule, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errSchedule
	}
	return schedule, nil
}

// timetable returns the schedule in its zone, or nil where there is none.
func (j Job) timetable() *cron.SpecSchedule {
	schedule, err := parseSchedule(j.Schedule)
	if err != nil {
		return nil
	}
	if schedule.Location = zone(j.TimeZone); schedule.Location == nil {
		return nil
	}
	return schedule
}

// Next returns when the job's next run after a time is due; the zero time where it has no schedule, or none is due any more.
func (j Job) Next(after time.Time) time.Time {
	schedule := j.timetable()
	if schedule == nil {
		return time.Time{}
	}
	return following(schedule, after).UTC()
}

// following returns what is due next after a time. Runs are due at whole minutes: the search skips the seconds up to the next one, which
// would cost more than all the rest.
func following(schedule *cron.SpecSchedule, after time.Time) time.Time {
	return schedule.Next(after.Truncate(time.Minute).Add(time.Minute - time.Second))
}

// Latest returns the last of the runs that are due after a time and not later than now; the zero time where there is none.
func (j Job) Latest(after, now time.Time) time.Time {
	schedule := j.timetable()
	due := func(after time.Time) bool {
		next := following(schedule, after)
		return !next.IsZero() && !next.After(now)
	}
	if schedule == nil || !due(after) {
		return time.Time{}
	}
	for end := now; end.Sub(after) > time.Second; {
		if middle := after.Add(end.Sub(after) / 2); due(middle) {
			after = middle
		} else {
			end = middle
		}
	}
	return following(schedule, after).UTC()
}

// checkSchedule holds a schedule to be one that is due at some time.
func (j Job) checkSchedule() error {
	if j.Schedule == "" {
		for _, c := range []struct{ field, value string }{
			{"job.time_zone", j.TimeZone}, {"job.overlap", string(j.Overlap)},
		} {
			if c.value != "" {
				return Reject(CodeMissingField, "job.schedule", `%s is given and job.schedule is missing: say when runs begin, as in "*/5 * * * *"`, c.field)
			}
		}
		return nil
	}
	if len(j.Schedule) > maxSchedule {
		return Reject(CodeOutOfRange, "job.schedule", "job.schedule has %d bytes, more than %d", len(j.Schedule), maxSchedule)
	}
	if _, err := parseSchedule(j.Schedule); err != nil {
		return Reject(CodeInvalidValue, "job.schedule", `job.schedule %s is not a schedule: %s: write minute, hour, day of month, month and day of week, as in "*/5 * * * *"`,
			quote(j.Schedule), err)
	}
	if zone(j.TimeZone) == nil {
		return Reject(CodeInvalidValue, "job.time_zone", "job.time_zone %s is not a time zone: name one of IANA's, as in Europe/Berlin", quote(j.TimeZone))
	}
	policies := []Overlap{OverlapForbid, OverlapReplace}
	if !slices.Contains(policies, j.Overlap) {
		return Reject(CodeInvalidValue, "job.overlap", "job.overlap %s is not known: known are %s", quote(string(j.Overlap)), listed(policies))
	}
	if j.Next(time.Unix(0, 0)).IsZero() { // a leap year is within the five that are looked through
		return Reject(CodeInvalidValue, "job.schedule", "job.schedule %s is never due: there is no such day", quote(j.Schedule))
	}
	return nil
}
