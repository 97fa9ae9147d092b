package events

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const scaleSubject = "rookery.cmd.service.demo.web.scale"

// bare, binary and structured write one command in each of the forms that are taken.
func bare(subject, body string) Message {
	return Message{Subject: subject, Body: []byte(body), Sequence: 9}
}

func binary(subject, kind, body string) Message {
	m := bare(subject, body)
	m.Header = Header{"ce-specversion": {"1.0"}, "ce-id": {"c1"}, "ce-source": {"/me"}, "ce-type": {kind}, "Content-Type": {"application/json"}}
	return m
}

func structured(subject, kind, body string) Message {
	m := bare(subject, fmt.Sprintf(`{"specversion":"1.0","id":"c1","source":"/me","type":%q,"data":%s}`, kind, body))
	m.Header = Header{"Content-Type": {"application/cloudevents+json; charset=utf-8"}}
	return m
}

func with(m Message, name string, values ...string) Message {
	h := Header{name: values}
	for n, v := range m.Header {
		if n != name {
			h[n] = v
		}
	}
	m.Header = h
	return m
}

func asEvent(members string) Message {
	m := bare(scaleSubject, "{"+members+"}")
	m.Header = Header{"content-type": {"application/cloudevents+json"}}
	return m
}

func TestAllFormsGiveOneCommand(t *testing.T) {
	for _, tt := range []struct {
		verb string
		body string
		want Command
	}{
		{"scale", `{"scale":5,"busy":"supersede"}`, ServiceScale{Scale: new(int64(5)), Guard: Guard{Busy: BusySupersede}}},
		{"drop", `{}`, ServiceDrop{Guard{Busy: BusySupersede}}},
		{
			"ensure", `{"image":"localhost/web:1","scale":0,"ports":[{"name":"http","port":80}],"stop_grace":"3s"}`,
			ServiceEnsure{
				Spec:  Spec{Image: "localhost/web:1", Ports: []Port{{Name: "http", Port: 80, Protocol: TCP}}, StopGrace: 3e9},
				Scale: new(int64(0)),
			},
		},
	} {
		subject, kind := CommandSubject(web, tt.verb), "io.rookery.service.v1."+tt.verb
		base64ed := asEvent(fmt.Sprintf(`"data_base64":%q,"type":%q,"id":"c1","source":"/me","specversion":"1.0"`,
			base64.StdEncoding.EncodeToString([]byte(tt.body)), kind))
		base64ed.Subject = subject
		plain := binary(subject, kind, tt.body)
		delete(plain.Header, "Content-Type")
		digest := ParseRequest(bare(subject, tt.body)).Digest
		for form, m := range map[string]Message{
			"bare": bare(subject, tt.body), "structured": structured(subject, kind, tt.body), "base64": base64ed,
			"binary": binary(subject, kind, tt.body), "binary without content type": plain,
			"binary with charset": with(plain, "content-type", "application/json; charset=utf-8"),
		} {
			r := ParseRequest(m)
			if r.Rejection != nil {
				t.Errorf("%s %s: rejected: %+v", form, tt.verb, r.Rejection)
				continue
			}
			if !reflect.DeepEqual(r.Command, tt.want) || r.Verb != tt.verb || r.Scope != ServiceScope(web) {
				t.Errorf("%s %s: got %+v", form, tt.verb, r)
			}
			if r.Digest != digest {
				t.Errorf("%s %s: another digest than the bare form's", form, tt.verb)
			}
			if identified := r.ID == "c1" && r.Source == "/me"; identified != (form != "bare") {
				t.Errorf("%s %s: it is %q from %q", form, tt.verb, r.ID, r.Source)
			}
		}
	}
}

func TestDigestsTellCommandsApart(t *testing.T) {
	seen := map[string]Message{}
	for _, m := range []Message{
		bare(scaleSubject, `{"scale":5}`),
		bare(scaleSubject, `{"scale":6}`),
		bare("rookery.cmd.service.demo.web2.scale", `{"scale":5}`),
		bare("rookery.cmd.service.demo.web.drop", `{"scale":5}`),
		bare("rookery.cmd.service.demo.web.ensure", `{"scale":5}`),
	} {
		digest := ParseRequest(m).Digest
		if other, ok := seen[digest]; ok || digest == "" {
			t.Errorf("%s %s has the digest of %s %s", m.Subject, m.Body, other.Subject, other.Body)
		}
		seen[digest] = m
	}
}

func TestTheSenderIsInTheSubject(t *testing.T) {
	r := ParseRequest(bare(CommandBy("ann", scaleSubject), `{"scale":5}`))
	if r.Rejection != nil || r.Actor != "ann" || r.Scope != ServiceScope(web) || r.Verb != "scale" {
		t.Errorf("it is read as %+v", r)
	}
	if r.Digest == ParseRequest(bare(scaleSubject, `{"scale":5}`)).Digest {
		t.Error("it has the digest of the same command without a sender")
	}
}

func TestSubjectsOfCommands(t *testing.T) {
	for _, tt := range []struct {
		subject string
		code    Code
		field   string
		says    string
		scope   Scope
	}{
		{"rookery.cmd.service.demo.web.scael", CodeUnknownVerb, "subject", `did you mean "scale"`, ServiceScope(web)},
		{"rookery.cmd.service.demo.web.explode", CodeUnknownVerb, "subject", "ensure, scale, restart, snapshot, suspend, resume, rollback, promote, cancel, drop", ServiceScope(web)},
		{"rookery.cmd.service.demo.web.Scale", CodeUnknownVerb, "subject", `did you mean "scale"`, ServiceScope(web)},
		{"rookery.cmd.service.demo.web", CodeUnknownSubject, "subject", "<verb>", ClusterScope},
		{"rookery.cmd.service.demo.web.x.scale", CodeUnknownSubject, "subject", "<verb>", ClusterScope},
		{"rookery.cmd.services.demo.web.scale", CodeUnknownSubject, "subject", "services", ClusterScope},
		{"rookery.cmd.x", CodeUnknownSubject, "subject", `"rookery.cmd.x"`, ClusterScope},
		{"rookery.cmd", CodeUnknownSubject, "subject", "rookery.cmd", ClusterScope},
		{"", CodeUnknownSubject, "subject", "<verb>", ClusterScope},
		{"rookery.cmd.by.ann.service.demo.web.scael", CodeUnknownVerb, "subject", `did you mean "scale"`, ServiceScope(web)},
		{"rookery.cmd.by.*.service.demo.web.scale", CodeInvalidName, "user", `"*"`, ClusterScope},
		{"rookery.cmd.by.ann", CodeUnknownSubject, "subject", "<verb>", ClusterScope},
		{"rookery.cmd.by", CodeUnknownSubject, "subject", "<verb>", ClusterScope},
		{"rookery.cmd.service.Demo.web.scale", CodeInvalidName, "namespace", `"Demo"`, ClusterScope},
		{"rookery.cmd.service.demo.-web.scale", CodeInvalidName, "name", `"-web"`, ClusterScope},
		{"rookery.cmd.service.demo.w\x1b[b.scale", CodeInvalidName, "name", `\x1b`, ClusterScope},
		{"rookery.cmd.service.demo.*.scale", CodeInvalidName, "name", `"*"`, ClusterScope},
		{"rookery.cmd.service.>.web.scale", CodeInvalidName, "namespace", `">"`, ClusterScope},
		{"rookery.cmd.service.demo." + strings.Repeat("a", 64) + ".scale", CodeInvalidName, "name", "63", ClusterScope},
		{"rookery.cmd.service.demo.w\xffb.scale", CodeInvalidName, "name", `\xff`, ClusterScope},
	} {
		r := ParseRequest(bare(tt.subject, `{"scale":5}`))
		wantRejected(t, tt.subject, r, tt.code, tt.field, tt.says)
		if r.Scope != tt.scope {
			t.Errorf("%s: under %+v, want %+v", tt.subject, r.Scope, tt.scope)
		}
	}
}

func wantRejected(t *testing.T, what string, r Request, code Code, field string, says ...string) {
	t.Helper()
	t.Run(what, func(t *testing.T) {
		t.Helper()
		if r.Command != nil || r.Rejection == nil {
			t.Fatalf("not rejected: %+v", r)
		}
		wantRejection(t, r.Rejection, code, field, says...)
	})
}

func TestEnvelopesThatAreNotTaken(t *testing.T) {
	const kind, body = "io.rookery.service.v1.scale", `{"scale":5}`
	const rest = `"id":"c1","source":"/me","type":"io.rookery.service.v1.scale","data":{"scale":5}`
	good := binary(scaleSubject, kind, body)
	for _, tt := range []struct {
		name  string
		m     Message
		code  Code
		field string
		says  string
	}{
		{"binary without specversion", with(good, "ce-specversion"), CodeMissingAttribute, "specversion", `"1.0"`},
		{"binary without id", with(good, "ce-id"), CodeMissingAttribute, "id", "no id"},
		{"binary without source", with(good, "ce-source"), CodeMissingAttribute, "source", "no source"},
		{"binary without type", with(good, "ce-type"), CodeMissingAttribute, "type", "no type"},
		{"binary with an empty id", with(good, "ce-id", ""), CodeMissingAttribute, "id", "no id"},
		{"binary of another CloudEvents", with(good, "ce-specversion", "0.3"), CodeUnknownVersion, "specversion", `"0.3"`},
		{"binary of a newer type", with(good, "ce-type", "io.rookery.service.v2.scale"), CodeUnknownVersion, "type", "version 2"},
		{"binary of another verb", with(good, "ce-type", "io.rookery.service.v1.drop"), CodeInvalidAttribute, "type", "v1.scale"},
		{"binary of another's type", with(good, "ce-type", "x"), CodeInvalidAttribute, "type", `"x"`},
		{"binary of another content", with(good, "Content-Type", "text/plain"), CodeInvalidAttribute, "datacontenttype", "text/plain"},
		{"binary of no content type", with(good, "Content-Type", "/;"), CodeInvalidAttribute, "datacontenttype", "media type"},
		{"binary with a malformed time", with(good, "ce-time", "noon"), CodeInvalidAttribute, "time", "noon"},
		{"binary with half an escape", with(good, "ce-id", "%z"), CodeInvalidAttribute, "id", "percent"},
		{"binary with bytes as id", with(good, "ce-id", "%FF"), CodeInvalidAttribute, "id", `\xff`},
		{"binary with raw bytes as source", with(good, "ce-source", "\xff"), CodeInvalidAttribute, "source", `\xff`},
		{"binary with a line break in the id", with(good, "ce-id", "a%0Ab"), CodeInvalidAttribute, "id", `\n`},
		{"binary with a malformed source", with(good, "ce-source", ":x"), CodeInvalidAttribute, "source", ":x"},
		{"binary with an id twice", with(good, "ce-id", "a", "b"), CodeInvalidAttribute, "id", "more than once"},
		{"binary with an id in two cases", with(good, "CE-ID", "b"), CodeInvalidAttribute, "id", "more than once"},
		{"binary with a long id", with(good, "ce-id", strings.Repeat("x", 257)), CodeOutOfRange, "id", "257"},
		{"binary with an extension of no name", with(good, "ce-", "x"), CodeInvalidAttribute, "", "extension"},
		{"binary with an extension's odd name", with(good, "ce-a_b", "x"), CodeInvalidAttribute, "a_b", "extension"},
		{"structured without specversion", asEvent(rest), CodeMissingAttribute, "specversion", `"1.0"`},
		{"structured of another CloudEvents", asEvent(`"specversion":"2.0",` + rest), CodeUnknownVersion, "specversion", `"2.0"`},
		{"structured with a number as version", asEvent(`"specversion":1.0,` + rest), CodeWrongType, "specversion", "a number"},
		{"structured without id", asEvent(strings.Replace(`"specversion":"1.0",`+rest, `"id":"c1",`, "", 1)), CodeMissingAttribute, "id", "no id"},
		{"structured without source", asEvent(strings.Replace(`"specversion":"1.0",`+rest, `"source":"/me",`, "", 1)), CodeMissingAttribute, "source", "no source"},
		{"structured with null as type", asEvent(strings.Replace(`"specversion":"1.0",`+rest, `"io.rookery.service.v1.scale"`, "null", 1)), CodeMissingAttribute, "type", "no type"},
		{"structured with a number as id", asEvent(strings.Replace(`"specversion":"1.0",`+rest, `"c1"`, "5", 1)), CodeWrongType, "id", "a number"},
		{"structured with a list as extension", asEvent(`"specversion":"1.0","x":[],` + rest), CodeWrongType, "x", "a list"},
		{"structured with an empty name", asEvent(`"":1,"specversion":"1.0",` + rest), CodeInvalidAttribute, "", "extension"},
		{"structured with a NUL in the id", asEvent(strings.Replace(`"specversion":"1.0",`+rest, "c1", `\u0000`, 1)), CodeInvalidAttribute, "id", `\x00`},
		{"structured with data twice", asEvent(`"specversion":"1.0","data_base64":"e30=",` + rest), CodeInvalidAttribute, "data_base64", "one of them"},
		{"structured with data that is not base64", asEvent(`"specversion":"1.0","data_base64":"%",` + strings.Replace(rest, `"data":{"scale":5}`, `"x":"x"`, 1)), CodeInvalidAttribute, "data_base64", "base64"},
		{"structured without data", asEvent(strings.Replace(`"specversion":"1.0",`+rest, `,"data":{"scale":5}`, "", 1)), CodeEmpty, "", "{}"},
		{"structured with text as data", asEvent(strings.Replace(`"specversion":"1.0",`+rest, `{"scale":5}`, `"x"`, 1)), CodeMalformed, "", "not a JSON object"},
		{"structured of another content", asEvent(`"datacontenttype":"text/xml","specversion":"1.0",` + rest), CodeInvalidAttribute, "datacontenttype", "text/xml"},
		{"structured and cut", with(bare(scaleSubject, `{"specversion":"1.0"`), "Content-Type", contentEnvelope), CodeMalformed, "", "not JSON"},
		{"structured and going on", with(bare(scaleSubject, `{"specversion":"1.0"}{}`), "Content-Type", contentEnvelope), CodeMalformed, "", "continues after"},
		{"structured and empty", with(bare(scaleSubject, ""), "Content-Type", contentEnvelope), CodeEmpty, "", "empty"},
		{"structured and blank", with(bare(scaleSubject, " \n"), "Content-Type", contentEnvelope), CodeEmpty, "", "empty"},
		{"structured and a list", with(bare(scaleSubject, "[]"), "Content-Type", contentEnvelope), CodeMalformed, "", "not a JSON object"},
		{"a batch", with(bare(scaleSubject, "[]"), "Content-Type", "application/cloudevents-batch+json"), CodeInvalidAttribute, "Content-Type", "batch"},
	} {
		wantRejected(t, tt.name, ParseRequest(tt.m), tt.code, tt.field, tt.says)
	}
}

func TestOutcomesDoNotHangOnTheOrderOfAMap(t *testing.T) {
	m := binary(scaleSubject, "io.rookery.service.v1.scale", `{"scale":5}`)
	for _, name := range []string{"ce-a_1", "ce-b_2", "ce-time", "ce-subject", "ce-dataschema"} {
		m.Header[name] = []string{""}
	}
	first := ParseRequest(m)
	for range 50 {
		if r := ParseRequest(m); !reflect.DeepEqual(r, first) {
			t.Fatalf("once %+v, once %+v", first.Rejection, r.Rejection)
		}
	}
}

func TestTraceParents(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{trace, trace},
		{"", ""},
		{strings.ToUpper(trace), ""},
		{trace + "-00", ""},
		{strings.Replace(trace, "00-", "ff-", 1), ""},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
		{"00-4bf92f3577b34da6a3ce929d0e0e473--00f067aa0ba902b7-01", ""},
		{"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", ""},
		{"0-04bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
		{strings.Repeat("-", 55), ""},
	} {
		const kind, body = "io.rookery.service.v1.scale", `{"scale":5}`
		inside := asEvent(fmt.Sprintf(`"specversion":"1.0","id":"a","source":"/","type":%q,"data":{"scale":5},"traceparent":%q`, kind, tt.text))
		for form, m := range map[string]Message{
			"bare": with(bare(scaleSubject, body), "Traceparent", tt.text), "structured": inside,
			"binary": with(binary(scaleSubject, kind, body), "ce-traceparent", tt.text),
		} {
			if r := ParseRequest(m); r.TraceParent != tt.want || r.Rejection != nil {
				t.Errorf("%s: %q is taken as %q, %v", form, tt.text, r.TraceParent, r.Rejection)
			}
		}
	}
}

func TestIdentityIsWhatTheLogRemembers(t *testing.T) {
	r := ParseRequest(binary(scaleSubject, "io.rookery.service.v1.scale", `{"scale":5}`))
	want := CommandIdentity{Sequence: 9, Verb: "scale", ID: "c1", Source: "/me", Digest: r.Digest}
	if r.Identity() != want || r.String() != "command 9 (scale)" || CauseOf("S", 9) != "S/9" {
		t.Errorf("got %+v, %s", r.Identity(), r)
	}
}
