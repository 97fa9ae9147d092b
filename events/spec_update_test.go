package events

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestUpdatesThatBreakARule(t *testing.T) {
	for _, tt := range []struct {
		fields string
		code   Code
		field  string
		says   string
	}{
		{`"update":{"strategy":"blue-green"}`, CodeInvalidValue, "update.strategy", "rolling, recreate, barrier"},
		{`"update":{"order":"both"}`, CodeInvalidValue, "update.order", "start-first, stop-first"},
		{`"update":{"canaries":1,"promote":"maybe"}`, CodeInvalidValue, "update.promote", "command, auto"},
		{`"update":{"on_failure":"abort"}`, CodeInvalidValue, "update.on_failure", "pause, continue, rollback"},
		{`"update":{"parallelism":10001}`, CodeOutOfRange, "update.parallelism", "10000"},
		{`"update":{"canaries":10001}`, CodeOutOfRange, "update.canaries", "10000"},
		{`"update":{"max_failure_ratio":1.01}`, CodeOutOfRange, "update.max_failure_ratio", "1.01"},
		{`"update":{"max_failure_ratio":-0.1}`, CodeOutOfRange, "update.max_failure_ratio", "-0.1"},
		{`"update":{"promote":"auto"}`, CodeMissingField, "update.canaries", "canaries"},
		{`"update":{"strategy":"recreate","order":"start-first"}`, CodeInvalidValue, "update.order", "recreate"},
		{`"update":{"strategy":"recreate","canaries":1}`, CodeInvalidValue, "update.canaries", "recreate"},
		{`"update":{"strategy":"barrier","order":"stop-first"}`, CodeInvalidValue, "update.order", "barrier"},
		{`"update":{"strategy":"barrier","canaries":1}`, CodeInvalidValue, "update.canaries", "barrier"},
		{`"update":{"strategy":"barrier","parallelism":2}`, CodeInvalidValue, "update.parallelism", "barrier"},
		{`"update":{"strategy":"barrier","max_failure_ratio":0.5}`, CodeInvalidValue, "update.max_failure_ratio", "barrier"},
		{`"update":{"strategy":"barrier","on_failure":"continue"}`, CodeInvalidValue, "update.on_failure", "barrier"},
		{`"update":{"strategy":"recreate","parallelism":2}`, CodeInvalidValue, "update.parallelism", "recreate"},
		{`"update":{"progress_deadline":"999ms"}`, CodeOutOfRange, "update.progress_deadline", "1s"},
		{`"update":{"progress_deadline":"25h"}`, CodeOutOfRange, "update.progress_deadline", "24h"},
		{`"update":{"progress_deadline":"1m","healthy_deadline":"2m"}`, CodeOutOfRange, "update.healthy_deadline", "1m0s"},
		{`"update":{"healthy_deadline":"4s","min_healthy":"5s"}`, CodeOutOfRange, "update.min_healthy", "4s"},
		{`"update":{"min_healthy":"-1s"}`, CodeOutOfRange, "update.min_healthy", "0s"},
		{`"update":{"monitor":"25h"}`, CodeOutOfRange, "update.monitor", "24h"},
		{`"update":{"delay":"-1s"}`, CodeOutOfRange, "update.delay", "0s"},
		{`"update":{"paralelism":2}`, CodeUnknownField, "update.paralelism", "parallelism"},
		{`"mode":"job","update":{"parallelism":2}`, CodeInvalidValue, "update", "job"},
	} {
		t.Run(tt.fields, func(t *testing.T) {
			_, err := ensure(tt.fields)
			wantRejection(t, err, tt.code, tt.field, tt.says)
		})
	}
}

// TestUpdatesThatMeanTheSame holds what is the default, or says it, to be one spec: the hash is that of before there were
// updates.
func TestUpdatesThatMeanTheSame(t *testing.T) {
	plain, err := ensure(`"labels":{}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, fields := range []string{
		`"update":{}`, `"update":{"strategy":"rolling","parallelism":1,"order":"start-first","on_failure":"pause"}`,
		`"update":{"healthy_deadline":"5m","progress_deadline":"10m","max_failure_ratio":0,"monitor":"0s"}`,
	} {
		c, err := ensure(fields)
		if err != nil {
			t.Fatal(err)
		}
		if c.Hash() != plain.Hash() {
			t.Errorf("%s: another hash than without", fields)
		}
	}
	given, err := ensure(`"update":{"min_healthy":"5s"}`)
	if err != nil || given.Hash() == plain.Hash() || plain.FirstHealthy() != 2*time.Second || given.FirstHealthy() != 5*time.Second {
		t.Errorf("with min_healthy of 5s all are to serve first for %s, and without for %s: %v", given.FirstHealthy(), plain.FirstHealthy(), err)
	}
	short, err := ensure(`"update":{"healthy_deadline":"4s"}`)
	if err != nil || *short.Updates().MinHealthy != Duration(4*time.Second) {
		t.Errorf("of a deadline of 4s an instance is to serve for %v: %v", short.Updates().MinHealthy, err)
	}
	other, err := ensure(`"update":{"min_healthy":"0s"}`)
	if err != nil {
		t.Fatal(err)
	}
	if other.Hash() == plain.Hash() || *other.Updates().MinHealthy != 0 {
		t.Error("a time of 0s that is given is taken for one that is not")
	}
}

func TestOrdinalsReadBack(t *testing.T) {
	for text, want := range map[string]Ordinals{
		"": nil, "0": {0}, "3,0-2,7": {3, 0, 1, 2, 7}, "9-10": {9, 10}, "1,0": {1, 0}, "0,2,4": {0, 2, 4},
	} {
		var got Ordinals
		if err := got.UnmarshalText([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q reads as %v, %v, want %v", text, got, err, want)
		}
		if back := want.String(); back != text {
			t.Errorf("%v is written as %q, want %q", want, back, text)
		}
	}
}

func TestOrdinalsThatAreNone(t *testing.T) {
	for _, text := range []string{",", "a", "1-", "-1", "2-1", "01", "0-10000", "0-9999,10000", "1,,2", "4294967296"} {
		var got Ordinals
		if err := got.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "0-3,7") {
			t.Errorf("%q is taken: %v, %v", text, got, err)
		}
	}
}
