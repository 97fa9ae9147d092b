package pictures

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAxesHaveRoundMarks(t *testing.T) {
	none := 0
	for _, c := range []struct {
		unit     string
		decimals *int
		greatest float64
		want     string
	}{
		{"short", nil, 0, "0, 0.2, 0.4, 0.6, 0.8, 1"},
		{"short", nil, 7, "0, 2, 4, 6, 8"},
		{"short", nil, 0.00042, "0, 0.0001, 0.0002, 0.0003, 0.0004, 0.0005"},
		{"short", nil, 0.0000042, "0, 0.000001, 0.000002, 0.000003, 0.000004, 0.000005"},
		{"short", &none, 1, "0, 1"},
		{"short", nil, 12345, "0, 5 K, 10 K, 15 K"},
		{"bytes", nil, 800 << 20, "0 B, 256 MiB, 512 MiB, 768 MiB, 1 GiB"},
		{"bytes", nil, 3, "0 B, 1 B, 2 B, 3 B"},
		{"s", nil, 0.003, "0 s, 1 ms, 2 ms, 3 ms"},
		{"s", nil, 200, "0 s, 1 min, 2 min, 3 min, 4 min"},
		{"s", nil, 40 * day, "0 s, 4 week, 8 week"},
		{"percentunit", nil, 1, "0%, 20%, 40%, 60%, 80%, 100%"},
	} {
		var marks []string
		for _, v := range axisOf(c.unit, c.decimals, 0, c.greatest, 5).marks() {
			marks = append(marks, tick(c.unit, v))
		}
		if got := strings.Join(marks, ", "); got != c.want {
			t.Errorf("up to %g in %s there are %s, not %s", c.greatest, c.unit, got, c.want)
		}
	}
}

func TestTimesAreOnTheClock(t *testing.T) {
	from := time.Date(2026, 3, 4, 11, 58, 7, 0, time.UTC)
	for _, c := range []struct {
		long time.Duration
		want []string
	}{
		{time.Minute, []string{"11:58:15", "11:58:30", "11:58:45", "11:59:00"}},
		{5 * time.Minute, []string{"11:59", "12:00", "12:01", "12:02", "12:03"}},
		{3 * time.Hour, []string{"12:00", "13:00", "14:00"}},
		{4 * 24 * time.Hour, []string{"03-05", "03-06", "03-07", "03-08"}},
	} {
		marks, layout := clock(from, from.Add(c.long), 5)
		var got []string
		for _, at := range marks {
			got = append(got, at.Format(layout))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("for %s there are %q, not %q", c.long, got, c.want)
		}
	}
}
