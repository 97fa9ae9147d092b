package main

import (
	"testing"
	"time"
)

func TestTimesOfOtherDaysHaveTheirDate(t *testing.T) {
	local := time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{local, "12:00:00"},
		{local.Add(-12 * time.Hour), "00:00:00"},
		{local.Add(-12*time.Hour - time.Second), "2026-11-21 23:59:59"},
		{local.AddDate(1, 0, 0), "2027-11-22 12:00:00"},
	} {
		if got := clock(tt.at, local); got != tt.want {
			t.Errorf("%v is shown as %q, want %q", tt.at, got, tt.want)
		}
	}
	if got, want := clock(local, time.Time{}), local.Format(time.DateTime); got != want {
		t.Errorf("it is shown as %q, want %q", got, want)
	}
}
