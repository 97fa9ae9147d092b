package events

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxAttribute is the greatest length of a CloudEvents attribute from outside, in bytes.
const MaxAttribute = 256

// ParseRequest reads one message of ROOKERY_COMMANDS in any of the three forms: a structured CloudEvent, one in
// binary mode, or a bare JSON body. It never fails: what is wrong stands in the request's Rejection.
func ParseRequest(m Message) Request {
	r := Request{Sequence: m.Sequence, Scope: ClusterScope}
	service, verb, err := target(m.Subject)
	if err == nil {
		r.Scope = ServiceScope(service)
		r.Command, err = newCommand(verb)
	}
	if err == nil {
		r.Verb = verb
		err = r.read(m)
	}
	if err == nil {
		err = r.Command.check()
	}
	if err != nil {
		r.reject(err)
		return r
	}
	r.Command = r.Command.normal()
	return r
}

func (r *Request) reject(err error) {
	r.Command = nil
	if !errors.As(err, &r.Rejection) {
		r.Rejection = &Rejection{Code: CodeMalformed, Reason: err.Error()}
	}
}

// read opens the envelope, if there is one, and reads the command's body.
func (r *Request) read(m Message) error {
	body := m.Body
	if len(body) > 0 && !utf8.Valid(body) {
		return Reject(CodeMalformed, "", "the body is not UTF-8 text: send a JSON object")
	}
	r.TraceParent = traceParent(m.Header.Get("traceparent"))
	if form := formOf(m.Header); form != formBare {
		e, err := openEnvelope(form, m)
		if err != nil {
			return err
		}
		if err := r.identify(e); err != nil {
			return err
		}
		body = e.Data()
	}
	sum := sha256.Sum256(append([]byte(m.Subject+"\x00"), body...))
	r.Digest = hex.EncodeToString(sum[:])
	return decodeStrict(body, r.Command)
}

// form is how a CloudEvent is written.
type form int

const (
	formBare form = iota
	formStructured
	formBinary
)

func formOf(h Header) form {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(h.Get(headerContentType))), "application/cloudevents") {
		return formStructured
	}
	for name := range h {
		if strings.HasPrefix(strings.ToLower(name), "ce-") {
			return formBinary
		}
	}
	return formBare
}

func openEnvelope(f form, m Message) (*event.Event, error) {
	if f == formBinary {
		return openBinary(m)
	}
	return openStructured(m)
}

func openStructured(m Message) (*event.Event, error) {
	if ct := strings.ToLower(m.Header.Get(headerContentType)); !strings.HasPrefix(ct, contentEnvelope) {
		return nil, Reject(CodeInvalidAttribute, "Content-Type", "%s is not taken: write structured events as %s", quote(ct), contentEnvelope)
	}
	if len(m.Body) == 0 {
		return nil, Reject(CodeEmpty, "", "the body is empty: send a CloudEvent in JSON")
	}
	if err := checkShape(m.Body); err != nil {
		return nil, err
	}
	if err := checkSpecVersion(structuredVersion(m.Body)); err != nil {
		return nil, err
	}
	e := &event.Event{}
	if err := e.UnmarshalJSON(m.Body); err != nil {
		return nil, Reject(CodeInvalidAttribute, "", "the CloudEvent does not read: %s", printable(err.Error()))
	}
	return e, checkAttributes(e)
}

// structuredVersion looks the version up before the SDK reads the rest, whose own error would not name the field.
func structuredVersion(body []byte) string {
	var v struct {
		SpecVersion jsontext.Value `json:"specversion"`
	}
	if err := json.Unmarshal(body, &v); err != nil || len(v.SpecVersion) == 0 {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, v.SpecVersion)
	if err != nil {
		return string(v.SpecVersion)
	}
	return string(text)
}

func checkSpecVersion(version string) error {
	switch version {
	case specVersion:
		return nil
	case "":
		return Reject(CodeMissingAttribute, "specversion", "the CloudEvent has no specversion: write %q", specVersion)
	}
	return Reject(CodeUnknownVersion, "specversion", "CloudEvents version %s is not taken: write %q", quote(version), specVersion)
}

func openBinary(m Message) (*event.Event, error) {
	if err := checkSpecVersion(m.Header.Get(headerSpecVersion)); err != nil {
		return nil, err
	}
	e := event.New(event.CloudEventsVersionV1)
	for name, values := range m.Header {
		attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !ok || len(values) == 0 || attribute == "specversion" {
			continue
		}
		value, err := url.PathUnescape(values[0])
		if err != nil {
			return nil, Reject(CodeInvalidAttribute, attribute, "attribute %s is not percent-encoded: %s", quote(attribute), quote(values[0]))
		}
		if err := setAttribute(&e, attribute, value); err != nil {
			return nil, err
		}
	}
	if ct := m.Header.Get(headerContentType); ct != "" {
		e.SetDataContentType(ct)
	}
	e.DataEncoded = m.Body
	return &e, checkAttributes(&e)
}

func setAttribute(e *event.Event, name, value string) error {
	switch name {
	case "id":
		e.SetID(value)
	case "source":
		e.SetSource(value)
	case "type":
		e.SetType(value)
	case "subject":
		e.SetSubject(value)
	case "dataschema":
		e.SetDataSchema(value)
	case "datacontenttype":
		e.SetDataContentType(value)
	case "time":
		t, err := types.ParseTime(value)
		if err != nil {
			return Reject(CodeInvalidAttribute, "time", "time %s is not as RFC 3339 writes it", quote(value))
		}
		e.SetTime(t)
	default:
		if err := e.Context.SetExtension(name, value); err != nil {
			return Reject(CodeInvalidAttribute, printable(name), "extension %s is not taken: %s", quote(name), printable(err.Error()))
		}
	}
	return nil
}

// checkAttributes holds the event against CloudEvents' rules and Rookery's limits.
func checkAttributes(e *event.Event) error {
	for _, a := range []struct{ name, value string }{{"id", e.ID()}, {"source", e.Source()}, {"type", e.Type()}} {
		if a.value == "" {
			return Reject(CodeMissingAttribute, a.name, "the CloudEvent has no %s", a.name)
		}
		if len(a.value) > MaxAttribute {
			return Reject(CodeOutOfRange, a.name, "%s has %d bytes, more than %d", a.name, len(a.value), MaxAttribute)
		}
	}
	if err := e.Validate(); err != nil {
		return Reject(CodeInvalidAttribute, "", "the CloudEvent breaks a rule: %s", printable(err.Error()))
	}
	if media, err := e.Context.GetDataMediaType(); err != nil || (media != "" && media != contentJSON) {
		return Reject(CodeInvalidAttribute, "datacontenttype", "datacontenttype %s is not taken: send %s", quote(e.DataContentType()), contentJSON)
	}
	return nil
}

// identify takes over who the event says it is, and holds its type against the subject's verb.
func (r *Request) identify(e *event.Event) error {
	want := r.Command.Kind()
	kind, ok := ParseKind(e.Type())
	switch {
	case !ok || kind.Thing != want.Thing || kind.Name != want.Name:
		return Reject(CodeInvalidAttribute, "type", "type %s does not go with the subject, which takes %s", quote(e.Type()), want)
	case kind != want:
		return Reject(CodeUnknownVersion, "type", "version %d of %s is not taken: send %s", kind.Version, want.Word(), want)
	}
	r.ID, r.Source = e.ID(), e.Source()
	if parent, ok := e.Extensions()["traceparent"].(string); ok {
		r.TraceParent = traceParent(parent)
	}
	return nil
}

// traceParent returns s if it is a W3C trace context, else "": a broken one is dropped, as the standard says.
func traceParent(s string) string {
	if len(s) != 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return ""
	}
	for i := range len(s) {
		c := s[i]
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return s
}

// CauseOf names a message of a stream as a direct cause: "<stream>/<sequence>".
func CauseOf(stream string, sequence uint64) string {
	return stream + "/" + strconv.FormatUint(sequence, 10)
}

// Identity returns how the log remembers the request.
func (r Request) Identity() CommandIdentity {
	return CommandIdentity{Sequence: r.Sequence, Verb: r.Verb, ID: r.ID, Source: r.Source, Digest: r.Digest}
}

// String shows the request in logs.
func (r Request) String() string { return fmt.Sprintf("command %d (%s)", r.Sequence, r.Verb) }
