package events

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func status(t *testing.T, subject string, data Data) Message {
	t.Helper()
	m, err := Encode(subject, data, attributes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func hello() Hello {
	h := filled(Hello{}).(Hello)
	h.Labels = map[string]string{"zone": "a"}
	return h
}

func seen() InstanceStatus {
	s := filled(InstanceStatus{}).(InstanceStatus)
	s.Namespace, s.Name, s.Ordinal, s.Generation = "demo", "web", 4, 1
	s.Images = map[string]string{"web:1": "docker.io/library/web@sha256:1"}
	s.Output = OutputKey(s.ID(), s.Attempt)
	s.Confirmed.Phase, s.NoRestart = OperationExport, NoRestartAttempts
	s.Exports = []Export{{Volume: "data", Digest: strings.Repeat("ab", 32), Size: 7}}
	return s
}

func TestStatusesReadBack(t *testing.T) {
	h, s := hello(), seen()
	e := EngineStatus{Counter: 3, Epoch: 2, Degraded: "it hangs"}
	l := InstanceList{Counter: 1, Epoch: 2, Instances: []InstanceState{s.InstanceState}, Last: true}
	for _, tt := range []struct {
		m    Message
		want Status
	}{
		{status(t, HelloSubject("n1"), h), Status{Node: "n1", Hello: &h}},
		{status(t, ListSubject("n1"), l), Status{Node: "n1", List: &l}},
		{status(t, EngineSubject("n1"), e), Status{Node: "n1", Engine: &e}},
		{status(t, InstanceStatusSubject("n1", web41), s), Status{Node: "n1", Instance: &s}},
	} {
		if got, err := ParseStatus(tt.m); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: got %+v, %v", tt.m.Subject, got, err)
		}
	}
}

func TestStatusesThatAreNotTaken(t *testing.T) {
	for _, subject := range []string{"", "rookery.status.n1", "rookery.status.N1.hello", "rookery.cmd.n1.hello", "rookery.status..hello"} {
		if _, err := ParseStatus(status(t, subject, hello())); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", subject, err)
		}
	}
	for _, m := range []Message{
		status(t, InstanceStatusSubject("n1", InstanceID{Service: web}), seen()),
		status(t, HelloSubject("n1"), NodeSilent{}),
		{Subject: HelloSubject("n1"), Header: status(t, "x", hello()).Header, Body: []byte("{")},
	} {
		if _, err := ParseStatus(m); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", m.Subject, err)
		}
	}
	if _, err := ParseStatus(Message{Subject: HelloSubject("n1")}); !errors.Is(err, ErrUnknownType) {
		t.Errorf("no envelope: %v", err)
	}
}

func TestStatusesThatBreakARule(t *testing.T) {
	helloWith := func(change func(*Hello)) Hello {
		h := hello()
		change(&h)
		return h
	}
	for _, tt := range []struct {
		h     Hello
		code  Code
		field string
	}{
		{helloWith(func(h *Hello) { h.Incarnation = "" }), CodeOutOfRange, "incarnation"},
		{helloWith(func(h *Hello) { h.Incarnation = strings.Repeat("x", 64) }), CodeOutOfRange, "incarnation"},
		{helloWith(func(h *Hello) { h.Runtime = strings.Repeat("x", 129) }), CodeOutOfRange, "runtime"},
		{helloWith(func(h *Hello) { h.Ports = PortRange{Last: 5} }), CodeOutOfRange, "ports"},
		{helloWith(func(h *Hello) { h.Ports = PortRange{First: 6, Last: 5} }), CodeOutOfRange, "ports"},
		{helloWith(func(h *Hello) { h.Allows.HostPorts = []PortRange{{First: 6, Last: 5}} }), CodeOutOfRange, "allows.host_ports"},
		{helloWith(func(h *Hello) { h.Allows.HostPorts = make([]PortRange, 65) }), CodeOutOfRange, "allows.host_ports"},
		{helloWith(func(h *Hello) { h.Labels = map[string]string{ReservedLabel + "x": ""} }), CodeInvalidName, "labels.io.rookery.x"},
	} {
		_, err := ParseStatus(status(t, HelloSubject("n1"), tt.h))
		wantRejection(t, err, tt.code, tt.field)
	}
	s := seen()
	s.Message = strings.Repeat("x", MaxMessage+1)
	_, err := ParseStatus(status(t, InstanceStatusSubject("n1", web41), s))
	wantRejection(t, err, CodeOutOfRange, "message")
	_, err = ParseStatus(status(t, EngineSubject("n1"), EngineStatus{Degraded: strings.Repeat("x", MaxMessage+1)}))
	wantRejection(t, err, CodeOutOfRange, "degraded")
	for _, output := range []string{
		"web", OutputKey(web41, 8), OutputKey(InstanceID{Service: web, Ordinal: 4, Generation: 2}, 7),
		"demo.web.4.1.7 ", "demo.web.4.1.07", strings.Repeat("x", MaxMessage),
	} {
		s = seen()
		s.Output = output
		_, err = ParseStatus(status(t, InstanceStatusSubject("n1", web41), s))
		wantRejection(t, err, CodeInvalidValue, "output", "demo.web.4.1.7")
		_, err = ParseStatus(status(t, ListSubject("n1"), InstanceList{Instances: []InstanceState{s.InstanceState}}))
		wantRejection(t, err, CodeInvalidValue, "output", "demo.web.4.1.7")
	}
	s = seen()
	s.NoRestart = "tired"
	_, err = ParseStatus(status(t, InstanceStatusSubject("n1", web41), s))
	wantRejection(t, err, CodeInvalidValue, "no_restart", "tired")
	s = seen()
	s.Images = map[string]string{"web:1": "docker.io/library/web:1"}
	_, err = ParseStatus(status(t, InstanceStatusSubject("n1", web41), s))
	wantRejection(t, err, CodeInvalidValue, "images.web:1", "not a digest")
	s.Images = map[string]string{}
	for i := range MaxImages + 1 {
		s.Images[strings.Repeat("w", i+1)] = "w@sha256:1"
	}
	_, err = ParseStatus(status(t, InstanceStatusSubject("n1", web41), s))
	wantRejection(t, err, CodeOutOfRange, "images", "10")
	_, err = ParseStatus(status(t, ListSubject("n1"), InstanceList{Instances: make([]InstanceState, MaxListed+1)}))
	wantRejection(t, err, CodeOutOfRange, "instances", "200")
	_, err = ParseStatus(status(t, ListSubject("n1"), InstanceList{Instances: []InstanceState{{Namespace: "Demo"}}}))
	wantRejection(t, err, CodeInvalidName, "namespace")
}
