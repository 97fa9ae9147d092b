package events

import "testing"

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
	} {
		t.Run(tt.fields, func(t *testing.T) {
			_, err := ensure(tt.fields)
			wantRejection(t, err, tt.code, tt.field, tt.says)
		})
	}
}

func TestBackoffGrowsToItsLongest(t *testing.T) {
	r := Restart{}.withDefaults()
	for failures, want := range map[uint32]string{1: "1s", 2: "2s", 6: "32s", 7: "1m0s", 10_000: "1m0s"} {
		if got := r.Backoff(failures).String(); got != want {
			t.Errorf("after %d failures the delay is %s, want %s", failures, got, want)
		}
	}
}
