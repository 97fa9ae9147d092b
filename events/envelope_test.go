package events

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

var attributes = Attributes{
	ID: "12", Source: "/rookery/log", Time: moment,
	Cause: Cause{Correlation: 7, Causation: "ROOKERY_COMMANDS/7", TraceParent: trace},
}

func TestEveryKindReadsBack(t *testing.T) {
	for _, sample := range Samples() {
		for _, data := range []Data{sample, filled(sample)} {
			m, err := Encode("subject", data, attributes)
			if err != nil {
				t.Fatalf("%s: %v", data.Kind(), err)
			}
			got, a, err := Decode(m)
			if err != nil {
				t.Fatalf("%s: %v: %s", data.Kind(), err, m.Body)
			}
			again, err := Encode("subject", got, a)
			if err != nil {
				t.Fatalf("%s: %v", data.Kind(), err)
			}
			if !reflect.DeepEqual(m, again) {
				t.Errorf("%s: %s\nreads back as\n%s", data.Kind(), m.Body, again.Body)
			}
			if a != attributes {
				t.Errorf("%s: attributes read as %+v", data.Kind(), a)
			}
		}
		if got, want := filled(sample), filled(sample); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: two fillings differ: the test says nothing", sample.Kind())
		}
	}
}

// TestZerosThatSayNothingAreLeftOut checks that the tags leave zeros out that say nothing: operators read these bodies.
func TestZerosThatSayNothingAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		data Data
		want string
	}{
		{CommandRejected{Rejection: Rejection{Code: CodeEmpty, Reason: "r"}}, `{"sequence":0,"code":"empty","reason":"r"}`},
		{HeartbeatAnswer{Log: "l"}, `{"log":"l","epoch":0,"orders":0,"list":0}`},
		{Order{Action: ActionStop, Log: "l"}, `{"action":"stop","log":"l","decided":0,"counter":0}`},
		{ServiceEnsure{Spec: Spec{Image: "i"}}, `{"image":"i"}`},
		{NodeSilent{}, `{}`},
	} {
		if m, err := Encode("s", tt.data, attributes); err != nil || string(m.Body) != tt.want {
			t.Errorf("%s is written as %s, %v", tt.data.Kind(), m.Body, err)
		}
	}
}

func TestHeadersAreCloudEvents(t *testing.T) {
	m, err := Encode("s", NodeSilent{}, attributes)
	if err != nil {
		t.Fatal(err)
	}
	want := Header{
		"ce-specversion": {"1.0"}, "ce-id": {"12"}, "ce-source": {"/rookery/log"}, "ce-type": {"io.rookery.node.v1.silent"},
		"ce-time": {"2026-03-04T05:06:07.089Z"}, "ce-datacontenttype": {"application/json"}, "ce-dataschema": {"urn:rookery:io.rookery.node.v1.silent"},
		"ce-correlationid": {"7"},
		"ce-causationid":   {"ROOKERY_COMMANDS/7"}, "ce-traceparent": {trace},
	}
	if !reflect.DeepEqual(m.Header, want) {
		t.Errorf("got %v", m.Header)
	}
	if m, err = Encode("s", NodeSilent{}, Attributes{Time: moment}); err != nil || len(m.Header) != 7 {
		t.Errorf("without a cause: %v, %v", m.Header, err)
	}
}

func TestHeaderNamesAreReadInAnyCase(t *testing.T) {
	m, err := Encode("s", NodeListed{Epoch: 3}, attributes)
	if err != nil {
		t.Fatal(err)
	}
	for _, written := range []func(string) string{strings.ToUpper, strings.ToLower, strings.ToTitle} {
		other := m
		other.Header = Header{}
		for name, values := range m.Header {
			other.Header[written(name)] = values
		}
		if data, a, err := Decode(other); err != nil || data != (NodeListed{Epoch: 3}) || a != attributes {
			t.Errorf("%v reads as %+v, %+v, %v", other.Header, data, a, err)
		}
	}
	twice := Header{"CE-ID": {"upper"}, "Ce-Id": {"title"}}
	for range 100 {
		if got := twice.Get("ce-id"); got != "upper" {
			t.Fatalf("of two names that differ in case %q counts, and not always the same", got)
		}
	}
	if got := (Header{"ce-id": {}, "other": {"x"}}).Get("ce-id"); got != "" {
		t.Errorf("a header without values is %q", got)
	}
}

func TestTraceParentIsPercentDecoded(t *testing.T) {
	m, err := Encode("s", NodeSilent{}, Attributes{Time: moment, Cause: Cause{TraceParent: "a b%é"}})
	if err != nil || m.Header.Get("ce-traceparent") != "a%20b%25%C3%A9" {
		t.Fatalf("written as %q, %v", m.Header.Get("ce-traceparent"), err)
	}
	if _, a, err := Decode(m); err != nil || a.Cause.TraceParent != "a b%é" {
		t.Errorf("reads as %+v, %v", a, err)
	}
}

func TestMessagesThatDoNotDecode(t *testing.T) {
	good, err := Encode("rookery.log.node.n1.listed", NodeListed{Epoch: 3}, attributes)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		header string
		value  string
		body   string
		want   error
	}{
		{"another's type", headerType, "com.example.x", "", ErrUnknownType},
		{"no type", headerType, "", "", ErrUnknownType},
		{"a newer version", headerType, "io.rookery.node.v2.listed", "", ErrUnknownType},
		{"a newer kind", headerType, "io.rookery.node.v1.painted", "", ErrUnknownType},
		{"no time", headerTime, "", "", ErrMalformed},
		{"a malformed time", headerTime, "yesterday", "", ErrMalformed},
		{"a correlation that is not a sequence", headerCorrelation, "-1", "", ErrMalformed},
		{"a trace that is not percent-encoded", headerTrace, "%zz", "", ErrMalformed},
		{"not JSON", "", "", "x", ErrMalformed},
		{"empty", "", "", " ", ErrMalformed},
		{"levels that are not two numbers", headerLevels, "new", "", ErrMalformed},
		{"levels in the wrong order", headerLevels, "2-1", "", ErrMalformed},
		{"a version that is too long", headerVersion, strings.Repeat("v", MaxVersion+1), "", ErrMalformed},
		{"another type of value", "", "", `{"epoch":"1"}`, ErrMalformed},
		{"trailing bytes", "", "", `{"epoch":1}{}`, ErrMalformed},
		{"a key twice", "", "", `{"epoch":1,"epoch":1}`, ErrMalformed},
	} {
		m := good
		m.Header = Header{}
		for name, values := range good.Header {
			m.Header[name] = values
		}
		if tt.header != "" {
			m.Header[tt.header] = []string{tt.value}
		}
		if tt.body != "" {
			m.Body = []byte(tt.body)
		}
		if _, _, err := Decode(m); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if _, err := ParseRecord(m); !errors.Is(err, tt.want) {
			t.Errorf("%s: as a record: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestDecodeAsTakesOneKind(t *testing.T) {
	m, err := Encode("s", NodeListed{Epoch: 3}, attributes)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := DecodeAs[NodeListed](m); err != nil || got.Epoch != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, _, err := DecodeAs[NodeSilent](m); !errors.Is(err, ErrMalformed) {
		t.Errorf("another kind: %v", err)
	}
	m.Body = nil
	if _, _, err := DecodeAs[NodeListed](m); !errors.Is(err, ErrMalformed) {
		t.Errorf("no body: %v", err)
	}
}

func TestRecordsReadBack(t *testing.T) {
	want := Record{
		Event:    Event{Scope: ServiceScope(web), Data: ServiceScaled{Scale: 5}, Cause: attributes.Cause},
		Sequence: 44, Time: moment,
	}
	m, err := want.Message("log")
	if err != nil {
		t.Fatal(err)
	}
	if m.Subject != "rookery.log.service.demo.web.scaled" || m.Header.Get("ce-id") != "44" || m.Header.Get("ce-source") != "/rookery/log" {
		t.Errorf("got %+v", m)
	}
	m.Sequence = 44 // as the stream gives it
	if got, err := ParseRecord(m); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	m.Subject = "rookery.cmd.cluster.x"
	if _, err := ParseRecord(m); !errors.Is(err, ErrMalformed) {
		t.Errorf("a subject that is not the log's: %v", err)
	}
}

func TestOrdersReadBack(t *testing.T) {
	want := filled(Order{}).(Order)
	m, err := Encode(OrderSubject("n1", web41), want, attributes)
	if err != nil {
		t.Fatal(err)
	}
	node, id, got, err := ParseOrder(m)
	if err != nil || node != "n1" || id != web41 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, %s, %+v, %v", node, id, got, err)
	}
	m.Subject = OrdersEpochSubject
	if _, _, _, err := ParseOrder(m); !errors.Is(err, ErrMalformed) {
		t.Errorf("a subject of no order: %v", err)
	}
}
