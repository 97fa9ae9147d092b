package events

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func many(n int) map[string]string {
	m := make(map[string]string, n)
	for i := range n {
		m[fmt.Sprintf("k%d", i)] = "v"
	}
	return m
}

func manyPorts(n int) []Port {
	ports := make([]Port, n)
	for i := range ports {
		ports[i] = Port{Name: fmt.Sprintf("p%d", i), Port: 1}
	}
	return ports
}

func TestSpecsThatKeepTheRules(t *testing.T) {
	for _, s := range []Spec{
		{Image: "localhost/web:1"},
		{Image: "registry.example.org/team/web@sha256:abc", StopGrace: MaxStopGrace},
		{Image: strings.Repeat("i", MaxText), Command: make([]string, MaxArguments), Args: []string{"", "}}{%", "\n"}},
		{Image: "i", Env: many(MaxVariables), Labels: many(MaxLabels), Ports: manyPorts(MaxPorts)},
		{Image: "i", Ports: []Port{{Name: "a", Port: 53, Protocol: TCP}, {Name: "b", Port: 53, Protocol: UDP}, {Name: "c", Port: 65535}}},
		{Image: "i", Env: map[string]string{"A_b": strings.Repeat("v", MaxText)}},
	} {
		if err := s.check(); err != nil {
			t.Errorf("%.80s: %v", fmt.Sprint(s), err)
		}
	}
}

func TestSpecsThatBreakARule(t *testing.T) {
	long := strings.Repeat("x", MaxText+1)
	with := func(change func(*Spec)) Spec {
		s := Spec{Image: "i"}
		change(&s)
		return s
	}
	for _, tt := range []struct {
		spec  Spec
		code  Code
		field string
		says  string
	}{
		{Spec{}, CodeMissingField, "image", "localhost/web:1"},
		{Spec{Image: long}, CodeOutOfRange, "image", "4097"},
		{Spec{Image: "a b"}, CodeInvalidValue, "image", `"a b"`},
		{Spec{Image: "a\x00b"}, CodeInvalidValue, "image", "NUL"},
		{Spec{Image: "a\x1bb"}, CodeInvalidValue, "image", `\x1b`},
		{with(func(s *Spec) { s.Command = make([]string, MaxArguments+1) }), CodeOutOfRange, "command", "257"},
		{with(func(s *Spec) { s.Command = []string{"", long} }), CodeOutOfRange, "command[1]", "4097"},
		{with(func(s *Spec) { s.Args = make([]string, MaxArguments+1) }), CodeOutOfRange, "args", "257"},
		{with(func(s *Spec) { s.Args = []string{"a\x00"} }), CodeInvalidValue, "args[0]", "NUL"},
		{with(func(s *Spec) { s.Env = many(MaxVariables + 1) }), CodeOutOfRange, "env", "257"},
		{with(func(s *Spec) { s.Env = map[string]string{"": "v"} }), CodeInvalidName, "env.", "not empty"},
		{with(func(s *Spec) { s.Env = map[string]string{"A=B": "v"} }), CodeInvalidName, "env.A=B", `"A=B"`},
		{with(func(s *Spec) { s.Env = map[string]string{"A\x00": "v"} }), CodeInvalidName, `env.A\x00`, `A\x00`},
		{with(func(s *Spec) { s.Env = map[string]string{"A": long} }), CodeOutOfRange, "env.A", "4097"},
		{with(func(s *Spec) { s.Env = map[string]string{"A": "\x00"} }), CodeInvalidValue, "env.A", "NUL"},
		{with(func(s *Spec) { s.Ports = manyPorts(MaxPorts + 1) }), CodeOutOfRange, "ports", "65"},
		{with(func(s *Spec) { s.Ports = []Port{{Name: "A", Port: 1}} }), CodeInvalidName, "ports[0].name", `"A"`},
		{with(func(s *Spec) { s.Ports = []Port{{Name: "a"}} }), CodeOutOfRange, "ports[0].port", "65535"},
		{with(func(s *Spec) { s.Ports = []Port{{Name: "a", Port: 1, Protocol: "sctp"}} }), CodeInvalidValue, "ports[0].protocol", "sctp"},
		{with(func(s *Spec) { s.Ports = []Port{{Name: "a", Port: 1}, {Name: "a", Port: 2}} }), CodeInvalidValue, "ports[1].name", "ports[0]"},
		{with(func(s *Spec) { s.Labels = many(MaxLabels + 1) }), CodeOutOfRange, "labels", "65"},
		{with(func(s *Spec) { s.Labels = map[string]string{"": "v"} }), CodeInvalidName, "labels.", "not allowed"},
		{with(func(s *Spec) { s.Labels = map[string]string{"a\x00": "v"} }), CodeInvalidName, `labels.a\x00`, "control"},
		{with(func(s *Spec) { s.Labels = map[string]string{"io.rookery.service": "v"} }), CodeInvalidName, "labels.io.rookery.service", "Rookery's own"},
		{with(func(s *Spec) { s.Labels = map[string]string{"a": long} }), CodeOutOfRange, "labels.a", "4097"},
		{with(func(s *Spec) { s.StopGrace = -1 }), CodeOutOfRange, "stop_grace", "-1ns"},
		{with(func(s *Spec) { s.StopGrace = MaxStopGrace + 1 }), CodeOutOfRange, "stop_grace", "1h"},
		{with(func(s *Spec) { s.DrainDelay = new(Duration); *s.DrainDelay = -1 }), CodeOutOfRange, "drain_delay", "-1ns"},
	} {
		t.Run(tt.field+" "+string(tt.code), func(t *testing.T) {
			wantRejection(t, tt.spec.check(), tt.code, tt.field, tt.says)
		})
	}
}

func TestScalesAndBusyPolicies(t *testing.T) {
	scale := func(n int64) *int64 { return &n }
	for _, c := range []Command{
		ServiceScale{Scale: scale(0)},
		ServiceScale{Scale: scale(MaxScale), Guard: Guard{Busy: BusySupersede}},
		ServiceEnsure{Spec: Spec{Image: "i"}, Scale: scale(0), Guard: Guard{Busy: BusyReject}},
		ServiceEnsure{Spec: Spec{Image: "i"}},
		ServiceDrop{},
	} {
		if err := c.check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	wantRejection(t, ServiceScale{}.check(), CodeMissingField, "scale", `{"scale":3}`)
	for _, c := range []Command{
		ServiceScale{Scale: scale(-1)},
		ServiceScale{Scale: scale(MaxScale + 1)},
		ServiceEnsure{Spec: Spec{Image: "i"}, Scale: scale(-1)},
		ServiceEnsure{Spec: Spec{Image: "i"}, Scale: scale(1 << 40)},
	} {
		wantRejection(t, c.check(), CodeOutOfRange, "scale", "10000")
	}
	wantRejection(t, ServiceScale{Scale: scale(1), Guard: Guard{Busy: "line"}}.check(), CodeInvalidValue, "busy", `"line"`)
	wantRejection(t, ServiceEnsure{Spec: Spec{Image: "i"}, Guard: Guard{Busy: "wait"}}.check(), CodeInvalidValue, "busy", `"wait"`)
}

func TestEqualMeaningsHaveEqualHashes(t *testing.T) {
	plain := Spec{Image: "i", Ports: []Port{{Name: "http", Port: 80}}, Env: map[string]string{"A": "1", "B": "2"}}
	for name, same := range map[string]Spec{
		"written out": {Image: "i", Ports: []Port{{Name: "http", Port: 80, Protocol: TCP}}, Env: map[string]string{"B": "2", "A": "1"}, StopGrace: DefaultStopGrace},
		"empty lists": {Image: "i", Ports: plain.Ports, Env: plain.Env, Command: []string{}, Args: []string{}, Labels: map[string]string{}},
		"defaults":    plain.withDefaults(),
	} {
		if same.Hash() != plain.Hash() {
			t.Errorf("%s: another hash", name)
		}
	}
	if plain.Ports[0].Protocol != "" {
		t.Error("hashing changed the spec")
	}
	seen := map[string]int{plain.Hash(): -1}
	for i, other := range []Spec{
		{Image: "j", Ports: plain.Ports, Env: plain.Env},
		{Image: "i", Ports: []Port{{Name: "http", Port: 81}}, Env: plain.Env},
		{Image: "i", Ports: []Port{{Name: "http", Port: 80, Protocol: UDP}}, Env: plain.Env},
		{Image: "i", Ports: plain.Ports, Env: map[string]string{"A": "2", "B": "1"}},
		{Image: "i", Ports: plain.Ports, Env: plain.Env, Command: []string{"a"}},
		{Image: "i", Ports: plain.Ports, Env: plain.Env, Args: []string{"a"}},
		{Image: "i", Ports: plain.Ports, Env: plain.Env, Labels: map[string]string{"a": ""}},
		{Image: "i", Ports: plain.Ports, Env: plain.Env, StopGrace: Duration(time.Second)},
	} {
		if before, ok := seen[other.Hash()]; ok {
			t.Errorf("%d has the hash of %d", i, before)
		}
		seen[other.Hash()] = i
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"10s": 10 * time.Second, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "0s": 0} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s reads as %s, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{"", "10", "ten seconds", "1d", "\x00", "99999999999h"} {
		var d Duration
		wantRejection(t, d.UnmarshalText([]byte(text)), CodeInvalidValue, "", "10s")
	}
}
