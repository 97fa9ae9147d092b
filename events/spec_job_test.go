package events

import (
	"strings"
	"testing"
	"time"
)

func TestJobsThatBreakARule(t *testing.T) {
	for _, tt := range []struct {
		fields string
		code   Code
		field  string
		says   string
	}{
		{`"job":{}`, CodeInvalidValue, "job", `"mode":"job"`},
		{`"mode":"job","job":{"completions":10001}`, CodeOutOfRange, "job.completions", "10000"},
		{`"mode":"job","job":{"parallelism":10001}`, CodeOutOfRange, "job.parallelism", "10000"},
		{`"mode":"job","job":{"backoff_limit":10001}`, CodeOutOfRange, "job.backoff_limit", "10000"},
		{`"mode":"job","job":{"completions":-1}`, CodeOutOfRange, "job.completions", "negative"},
		{`"mode":"job","job":{"completion":2}`, CodeUnknownField, "job.completion", "completions"},
		{`"mode":"job","scale":2`, CodeInvalidValue, "scale", "job.completions"},
		{`"mode":"job","restart":{"policy":"always"}`, CodeInvalidValue, "restart.policy", "job.backoff_limit"},
		{`"mode":"job","restart":{"policy":"on-failure"}`, CodeInvalidValue, "restart.policy", "job.backoff_limit"},
		{`"mode":"job","restart":{"attempts":2}`, CodeInvalidValue, "restart.attempts", "job.backoff_limit"},
		{`"mode":"job","job":{"schedule":"* * * *"}`, CodeInvalidValue, "job.schedule", "expected exactly 5 fields"},
		{`"mode":"job","job":{"schedule":"60 * * * *"}`, CodeInvalidValue, "job.schedule", "60"},
		{`"mode":"job","job":{"schedule":"0 0 31 2 *"}`, CodeInvalidValue, "job.schedule", "never due"},
		{`"mode":"job","job":{"schedule":"@every 5m"}`, CodeInvalidValue, "job.schedule", "@hourly"},
		{`"mode":"job","job":{"schedule":"@reboot"}`, CodeInvalidValue, "job.schedule", "@reboot"},
		{`"mode":"job","job":{"schedule":"TZ=UTC * * * * *"}`, CodeInvalidValue, "job.schedule", "time_zone"},
		{`"mode":"job","job":{"schedule":"CRON_TZ="}`, CodeInvalidValue, "job.schedule", "time_zone"},
		{`"mode":"job","job":{"schedule":"` + strings.Repeat("0,", 200) + `0 * * * *"}`, CodeOutOfRange, "job.schedule", "256"},
		{`"mode":"job","job":{"schedule":"@daily","time_zone":"Berlin"}`, CodeInvalidValue, "job.time_zone", "Europe/Berlin"},
		{`"mode":"job","job":{"schedule":"@daily","time_zone":"Local"}`, CodeInvalidValue, "job.time_zone", "Local"},
		{`"mode":"job","job":{"schedule":"@daily","time_zone":"Europe/"}`, CodeInvalidValue, "job.time_zone", "Europe/"},
		{`"mode":"job","job":{"schedule":"@daily","overlap":"allow"}`, CodeInvalidValue, "job.overlap", "forbid, replace"},
		{`"mode":"job","job":{"time_zone":"UTC"}`, CodeMissingField, "job.schedule", "time_zone"},
		{`"mode":"job","job":{"overlap":"forbid"}`, CodeMissingField, "job.schedule", "overlap"},
	} {
		t.Run(tt.fields, func(t *testing.T) {
			_, err := ensure(tt.fields)
			wantRejection(t, err, tt.code, tt.field, tt.says)
		})
	}
}

func TestBackoffGrowsToItsLongest(t *testing.T) {
	r := Restart{}.withDefaults()
	for failures, want := range map[uint32]string{1: "15s", 2: "30s", 5: "4m0s", 6: "5m0s", 10_000: "5m0s"} {
		if got := r.Backoff(failures).String(); got != want {
			t.Errorf("after %d failures the delay is %s, want %s", failures, got, want)
		}
	}
}

func TestRunsAreDueByTheirZone(t *testing.T) {
	for name, tt := range map[string]struct{ schedule, zone, after, want string }{
		"UTC":                     {"30 3 * * *", "UTC", "2026-03-28T12:00:00Z", "2026-03-29T03:30:00Z"},
		"before summer time":      {"30 3 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z", "2026-03-28T02:30:00Z"},
		"after it has begun":      {"30 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"},
		"an hour that is not":     {"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"},
		"a moment too late":       {"*/5 * * * *", "UTC", "2026-01-01T00:05:00.001Z", "2026-01-01T00:10:00Z"},
		"a moment before":         {"*/5 * * * *", "UTC", "2026-01-01T00:04:59.999Z", "2026-01-01T00:05:00Z"},
		"half an hour off":        {"@daily", "Asia/Kolkata", "2026-01-01T00:00:00Z", "2026-01-01T18:30:00Z"},
		"the next leap year":      {"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"},
		"what is never due":       {"0 0 31 2 *", "UTC", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"unreadable times":        {"sometimes", "UTC", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		"a zone that there isn't": {"@daily", "Mars", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
	} {
		got := Job{Schedule: tt.schedule, TimeZone: tt.zone}.Next(clockAt(t, tt.after))
		if !got.Equal(clockAt(t, tt.want)) || got.Location() != time.UTC {
			t.Errorf("%s: %s in %s is next due at %s, want %s", name, tt.schedule, tt.zone, got, tt.want)
		}
	}
}

func TestOfMissedRunsTheLatestIsDue(t *testing.T) {
	j := Job{Schedule: "*/5 1-2 * * *", TimeZone: "Europe/Berlin"}
	for _, tt := range []struct{ after, now, want string }{
		{"2026-01-01T00:05:00Z", "2026-01-01T00:09:59.999Z", "0001-01-01T00:00:00Z"},
		{"2026-01-01T00:05:00Z", "2026-01-01T00:10:00Z", "2026-01-01T00:10:00Z"},
		{"2026-01-01T00:05:00Z", "2026-01-01T00:14:59Z", "2026-01-01T00:10:00Z"},
		{"2026-01-01T00:05:00Z", "2026-01-01T00:20:00.001Z", "2026-01-01T00:20:00Z"},
		{"2026-01-01T00:05:00.123Z", "2026-01-05T20:00:00Z", "2026-01-05T01:55:00Z"},
		{"2006-01-01T00:05:00Z", "2026-01-05T20:00:00Z", "2026-01-05T01:55:00Z"},
	} {
		if got := j.Latest(clockAt(t, tt.after), clockAt(t, tt.now)); !got.Equal(clockAt(t, tt.want)) {
			t.Errorf("between %s and %s the latest is %s, want %s", tt.after, tt.now, got, tt.want)
		}
	}
}

func clockAt(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// FuzzSchedules checks that every text is either refused or due in order: no text of an operator panics.
func FuzzSchedules(f *testing.F) {
	for _, text := range []string{"* * * * *", "@daily", "*/5 1-2,4 ? JAN MON-FRI", "TZ=", "@every 1s", "1/0 * * * *", "0 0 31 2 *"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		j := Job{Schedule: text}.withDefaults()
		if j.checkSchedule() != nil || text == "" {
			return
		}
		after := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		first := j.Next(after)
		if !first.After(after) || !j.Latest(after, first).Equal(first) {
			t.Errorf("%q is first due at %s, and the latest up to then is %s", text, first, j.Latest(after, first))
		}
	})
}
