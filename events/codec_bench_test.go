package events

import (
	"encoding/json"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"
)

// placed is the event that the log has most of.
func placed() Record {
	return Record{
		Event: Event{Scope: ServiceScope(web), Cause: attributes.Cause, Data: InstancePlaced{
			Ordinal: 4, Generation: 1, Revision: 3, Node: "node-12", Address: "10.0.0.12",
			Ports: []PortBinding{{Name: "http", Port: 8080, HostPort: 20_004, Protocol: TCP}},
		}},
		Sequence: 123_456, Time: moment,
	}
}

func BenchmarkEncodeRecord(b *testing.B) {
	r := placed()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Message("log"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseRecord(b *testing.B) {
	m, err := placed().Message("log")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseRecord(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExtendChain(b *testing.B) {
	m, err := placed().Message("log")
	if err != nil {
		b.Fatal(err)
	}
	var c Chain
	b.ReportAllocs()
	for b.Loop() {
		c = c.Extend(m)
	}
}

func benchmarkParseRequest(b *testing.B, m Message) {
	if r := ParseRequest(m); r.Rejection != nil {
		b.Fatal(r.Rejection)
	}
	b.ReportAllocs()
	for b.Loop() {
		ParseRequest(m)
	}
}

func BenchmarkParseRequestBare(b *testing.B) {
	benchmarkParseRequest(b, bare(scaleSubject, `{"scale":5}`))
}

func BenchmarkParseRequestBinary(b *testing.B) {
	benchmarkParseRequest(b, binary(scaleSubject, "io.rookery.service.v1.scale", `{"scale":5}`))
}

func BenchmarkParseRequestStructured(b *testing.B) {
	benchmarkParseRequest(b, structured(scaleSubject, "io.rookery.service.v1.scale", `{"scale":5}`))
}

// placedBySDK is the same event in the SDK's hands.
func placedBySDK(b *testing.B) event.Event {
	b.Helper()
	r := placed()
	e := event.New(event.CloudEventsVersionV1)
	e.SetID("123456")
	e.SetSource("/rookery/log")
	e.SetType(r.Data.Kind().String())
	e.SetTime(r.Time)
	e.SetExtension("correlationid", "7")
	e.SetExtension("causationid", r.Cause.Causation)
	e.SetExtension("traceparent", r.Cause.TraceParent)
	if err := e.SetData(event.ApplicationJSON, r.Data); err != nil {
		b.Fatal(err)
	}
	return e
}

// BenchmarkSDKEncodeRecord is what BenchmarkEncodeRecord would be with the SDK, whose one writer of bytes without a
// transport is that of the structured form.
func BenchmarkSDKEncodeRecord(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		e := placedBySDK(b)
		if err := e.Validate(); err != nil {
			b.Fatal(err)
		}
		if _, err := json.Marshal(e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSDKParseRecord is what BenchmarkParseRecord would be with the SDK.
func BenchmarkSDKParseRecord(b *testing.B) {
	body, err := json.Marshal(placedBySDK(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var e event.Event
		if err := json.Unmarshal(body, &e); err != nil {
			b.Fatal(err)
		}
		if err := e.Validate(); err != nil {
			b.Fatal(err)
		}
		var data InstancePlaced
		if err := e.DataAs(&data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSDKAttributesOfRecord is the SDK's least part in binary mode: setting and checking the attributes of an event with a finished
// body.
func BenchmarkSDKAttributesOfRecord(b *testing.B) {
	r := placed()
	b.ReportAllocs()
	for b.Loop() {
		e := event.New(event.CloudEventsVersionV1)
		e.SetID("123456")
		e.SetSource("/rookery/log")
		e.SetType(r.Data.Kind().String())
		e.SetTime(r.Time)
		e.SetDataContentType(event.ApplicationJSON)
		e.SetExtension("correlationid", "7")
		e.SetExtension("causationid", r.Cause.Causation)
		e.SetExtension("traceparent", r.Cause.TraceParent)
		if err := e.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
