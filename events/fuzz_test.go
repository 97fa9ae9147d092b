package events

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// commandBodies are where the fuzzers begin: one of each shape.
var commandBodies = []string{
	"", " ", "{}", "null", `{"scale":5}`, `{"scale":-1,"busy":"supersede"}`, `{"scale":1e99}`, `{"scael":5}`, `{"scale":5,"scale":6}`,
	`{"image":"i","command":["a"],"args":["b"],"env":{"A":"1"},"ports":[{"name":"a","port":80,"protocol":"udp"}],"labels":{"l":"v"},"stop_grace":"1s","scale":2}`,
	`{"image":"i","ports":[{"name":"a","port":80}],"args":["{{range $i, $p := .Peers \"a\"}}{{$p}}{{end}}"],"env":{"A":"{{.Address \"a\"}}"}}`,
	`{"image":"i","env":{"":""}}`, `{"image":5}`, "\xff\x00", `{"a":` + strings.Repeat("[", 20), `{"specversion":"1.0"}`, "{}{}", `{"stop_grace":1}`,
	`{"specversion":"1.0","id":"c1","source":"/me","type":"io.rookery.service.v1.scale","data":{"scale":5}}`,
	`{"":0,"specversion":"1.0","data_base64":"e30=","time":"2026-01-01T00:00:00Z"}`,
}

var commandSubjects = []string{
	scaleSubject, "rookery.cmd.service.demo.web.ensure", "rookery.cmd.service.demo.web.drop", "rookery.cmd.service.demo.web.scael",
	"rookery.cmd.by.x", "rookery.cmd.service.*.>.scale", "rookery.cmd.service.Demo.w\x00b.scale", "",
}

func FuzzParseRequest(f *testing.F) {
	for i, body := range commandBodies {
		subject := commandSubjects[i%len(commandSubjects)]
		f.Add(subject, body, byte(i), "ce-id", "%FF", "1.0")
		f.Add(scaleSubject, body, byte(i%4), "CE-ID", "b", "0.3")
	}
	f.Add(scaleSubject, `{"scale":5}`, byte(2), "ce-traceparent", trace, "1.0")
	f.Add("rookery.cmd.group.demo.shop.ensure", `{"services":{"db":{"image":"i"},"web":{"image":"i","scale":2,"after":["db"]}},"busy":"supersede"}`, byte(0), "", "", "")
	f.Add("rookery.cmd.group.demo.shop.ensure", `{"services":{"db":{"image":"i","after":["db"]},"Web":{}}}`, byte(0), "", "", "")
	f.Add("rookery.cmd.group.demo.shop.cancel", `{}`, byte(0), "", "", "")
	f.Add("rookery.cmd.service.demo.web.ensure", `{"image":"i","command":[],"env":{},"ports":[],"labels":{},"args":[]}`, byte(0), "", "", "")
	f.Fuzz(func(t *testing.T, subject, body string, form byte, name, value, version string) {
		m := bare(subject, body)
		switch form % 4 {
		case 1:
			m = with(m, "Content-Type", contentEnvelope)
		case 2:
			m = with(with(binary(subject, "io.rookery.service.v1.scale", body), "ce-specversion", version), name, value)
		case 3:
			m = with(m, name, value, version)
		}
		r := ParseRequest(m)
		checkRequest(t, m, r)
		if again := ParseRequest(m); !reflect.DeepEqual(r, again) {
			t.Errorf("read twice: %+v, then %+v", r, again)
		}
	})
}

// checkRequest holds a request to what the decisions rely on.
func checkRequest(t *testing.T, m Message, r Request) {
	t.Helper()
	if (r.Command == nil) == (r.Rejection == nil) {
		t.Fatalf("it is not one of command and rejection: %+v", r)
	}
	tokens := strings.Split(m.Subject, ".")
	id, ok := r.Scope.Service()
	if named := len(tokens) == 6 && tokens[2] == "service" && ValidName(tokens[3]) && ValidName(tokens[4]); named != ok {
		t.Errorf("subject %q is under %+v", m.Subject, r.Scope)
	}
	if ok && (id.Namespace != tokens[3] || id.Name != tokens[4]) {
		t.Errorf("subject %q is under %+v", m.Subject, r.Scope)
	}
	group, grouped := r.Scope.Group()
	if grouped && (len(tokens) != 6 || tokens[2] != "group" || group.Namespace != tokens[3] || group.Name != tokens[4]) {
		t.Errorf("subject %q is under %+v", m.Subject, r.Scope)
	}
	if !ok && !grouped && r.Scope != ClusterScope {
		t.Errorf("subject %q is under %+v", m.Subject, r.Scope)
	}
	if r.Rejection != nil {
		checkRejection(t, r.Rejection)
		if _, err := Encode("s", CommandRejected{CommandIdentity: r.Identity(), Rejection: *r.Rejection}, attributes); err != nil {
			t.Errorf("its rejection cannot be written: %v", err)
		}
		return
	}
	if _, err := Encode("s", CommandAccepted{CommandIdentity: r.Identity()}, attributes); err != nil {
		t.Errorf("its acceptance cannot be written: %v", err)
	}
	body, err := json.Marshal(r.Command, json.Deterministic(true))
	if err != nil {
		t.Fatalf("the command cannot be written: %v", err)
	}
	if again := ParseRequest(bare(m.Subject, string(body))); !reflect.DeepEqual(r.Command, again.Command) {
		t.Errorf("%+v reads back from %s as %+v, %+v", r.Command, body, again.Command, again.Rejection)
	}
}

// addSamples gives a fuzzer every kind, empty and filled.
func addSamples(f *testing.F, subject string) {
	for _, sample := range Samples() {
		for _, data := range []Data{sample, filled(sample)} {
			m, err := Encode(subject, data, attributes)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(subject, m.Header.Get(headerType), m.Header.Get(headerTime), m.Header.Get(headerTrace), m.Body)
		}
	}
}

func written(subject, kind, at, traceParent string, body []byte) Message {
	return Message{Subject: subject, Body: body, Header: Header{headerType: {kind}, headerTime: {at}, headerTrace: {traceParent}}}
}

func FuzzDecode(f *testing.F) {
	addSamples(f, "rookery.log.service.demo.web.x")
	f.Fuzz(func(t *testing.T, subject, kind, at, traceParent string, body []byte) {
		m := written(subject, kind, at, traceParent, body)
		data, a, err := Decode(m)
		if err != nil {
			return
		}
		if _, ok := ParseKind(kind); !ok || data.Kind().Thing == "" {
			t.Errorf("type %q reads as %+v", kind, data)
		}
		again, err := Encode(subject, data, a)
		if err != nil {
			return // a year beyond 9999, a trace of broken text: read, but never written by us
		}
		back, _, err := Decode(again)
		if err != nil {
			t.Fatalf("%s is written as %s: %v", body, again.Body, err)
		}
		// An empty list and none are written alike, so that it is the writing that is compared.
		if twice, err := Encode(subject, back, a); err != nil || !reflect.DeepEqual(twice, again) {
			t.Errorf("%s is written as %s, and that as %s, %v", body, again.Body, twice.Body, err)
		}
		if record, err := ParseRecord(m); err == nil {
			if _, ok := parseLogScope(subject); !ok || !reflect.DeepEqual(record.Data, data) {
				t.Errorf("as a record it is %+v", record)
			}
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	addSamples(f, HelloSubject("n1"))
	addSamples(f, EngineSubject("n1"))
	addSamples(f, InstanceStatusSubject("n1", InstanceID{Service: ServiceID{Namespace: "text", Name: "text"}, Ordinal: 7, Generation: 7}))
	f.Fuzz(func(t *testing.T, subject, kind, at, traceParent string, body []byte) {
		s, err := ParseStatus(written(subject, kind, at, traceParent, body))
		if err != nil {
			return
		}
		set := 0
		for _, is := range []bool{s.Hello != nil, s.List != nil, s.Instance != nil, s.Engine != nil, s.Session != nil} {
			if is {
				set++
			}
		}
		if set != 1 || !ValidName(s.Node) || !strings.HasPrefix(subject, StatusRoot+"."+s.Node+".") {
			t.Errorf("%q reads as %+v", subject, s)
		}
	})
}

func FuzzParseOrder(f *testing.F) {
	addSamples(f, OrderSubject("n1", web41))
	addSamples(f, OrdersEpochSubject)
	f.Fuzz(func(t *testing.T, subject, kind, at, traceParent string, body []byte) {
		node, id, _, err := ParseOrder(written(subject, kind, at, traceParent, body))
		if err != nil {
			return
		}
		stored := OrderSubject(node, id)
		if subject != stored && subject != OrderRoot+strings.TrimPrefix(stored, OrdersRoot) {
			t.Errorf("%q is the order of %s on %s", subject, id, node)
		}
	})
}

func FuzzParseKind(f *testing.F) {
	for _, sample := range Samples() {
		f.Add(sample.Kind().String())
	}
	f.Add("io.rookery.x.v01.y")
	f.Add("io.rookery.x.v2.y.z")
	f.Fuzz(func(t *testing.T, s string) {
		if kind, ok := ParseKind(s); ok && kind.String() != s {
			t.Errorf("%q reads as %+v", s, kind)
		}
	})
}

func FuzzParseSubjects(f *testing.F) {
	for _, subject := range append(commandSubjects, OrderSubject("n1", web41), OrdersEpochSubject, "rookery.log.round", "rookery.log.node.n1.joined", "rookery.orders.n1.a.b.04.1", "rookery.orders.n1.a.b..1") {
		f.Add(subject)
	}
	f.Fuzz(func(t *testing.T, subject string) {
		if node, id, ok := ParseOrderSubject(subject); ok {
			stored := OrderSubject(node, id)
			if subject != stored && subject != OrderRoot+strings.TrimPrefix(stored, OrdersRoot) {
				t.Errorf("%q is that of %s on %s", subject, id, node)
			}
		}
		if scope, ok := parseLogScope(subject); ok && !strings.HasPrefix(scope.LogSubject(RoundClosed{}.Kind())+".", LogRoot+"."+scope.noun+".") {
			t.Errorf("%q is under %+v", subject, scope)
		}
		if id, err := ParseServiceID(subject); err == nil && id.String() != subject {
			t.Errorf("%q is the service %s", subject, id)
		}
	})
}
