package main

import "time"

// clock returns the time of day, with its date if that is not the day of the reference.
func clock(at, reference time.Time) string { return dated(at, reference, time.TimeOnly) }

// dated is clock in this layout of the time of day.
func dated(at, reference time.Time, layout string) string {
	at = at.Local()
	if at.Format(time.DateOnly) != reference.Local().Format(time.DateOnly) {
		layout = time.DateOnly + " " + layout
	}
	return at.Format(layout)
}
