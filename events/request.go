package events

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
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
	actor, subject, err := SenderOf(m.Subject)
	r.Actor = actor
	var scope Scope
	var verb string
	if err == nil {
		scope, verb, err = target(subject)
	}
	var command asked
	if err == nil {
		r.Scope = scope
		command, err = commandNamed(scope.noun, verb)
	}
	if err == nil {
		r.Verb, r.Command = verb, command.fresh()
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

// openStructured reads the members itself: the SDK's own reader stops silently at an empty name, takes numbers for
// the version and does not say which attribute is wrong.
func openStructured(m Message) (*event.Event, error) {
	if ct := strings.ToLower(m.Header.Get(headerContentType)); !strings.HasPrefix(ct, contentEnvelope) {
		return nil, Reject(CodeInvalidAttribute, "Content-Type", "%s is not supported: write structured events as %s", quote(ct), contentEnvelope)
	}
	if len(bytes.TrimSpace(m.Body)) == 0 {
		return nil, Reject(CodeEmpty, "", "the body is empty: send a CloudEvent in JSON")
	}
	if err := checkShape(m.Body); err != nil {
		return nil, err
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(m.Body, &members); err != nil {
		return nil, explainSyntax(err)
	}
	data, err := structuredData(members)
	if err != nil {
		return nil, err
	}
	delete(members, "data")
	delete(members, "data_base64")
	attributes := make(map[string]string, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if members[name].Kind() == jsontext.KindNull {
			continue // CloudEvents: an attribute that is null is not set
		}
		if attributes[name], err = attributeText(name, members[name]); err != nil {
			return nil, err
		}
	}
	return newEvent(attributes, data)
}

// structuredData returns the data of a structured event, which stands there as JSON or as the base64 of its bytes.
func structuredData(members map[string]jsontext.Value) ([]byte, error) {
	encoded, ok := members["data_base64"]
	if !ok {
		return members["data"], nil
	}
	if _, both := members["data"]; both {
		return nil, Reject(CodeInvalidAttribute, "data_base64", "data and data_base64 are both in one event: send one of them")
	}
	var data []byte
	if err := json.Unmarshal(encoded, &data); err != nil {
		return nil, Reject(CodeInvalidAttribute, "data_base64", "data_base64 is not a string in base64")
	}
	return data, nil
}

// attributeText returns the value as binary mode writes it. CloudEvents' own attributes are strings, extensions may
// be numbers and booleans too.
func attributeText(name string, value jsontext.Value) (string, error) {
	switch kind := value.Kind(); {
	case kind == jsontext.KindString:
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return "", Reject(CodeInvalidAttribute, printable(name), "attribute %s cannot be parsed: %v", quote(name), err)
		}
		return string(text), nil
	case kind == jsontext.KindBeginObject || kind == jsontext.KindBeginArray || slices.Contains(coreAttributes, name):
		return "", Reject(CodeWrongType, printable(name), "attribute %s must be a string, not %s", quote(name), kindName(kind))
	}
	return string(value), nil
}

// coreAttributes are those that CloudEvents itself defines.
var coreAttributes = []string{"specversion", "id", "source", "type", "subject", "dataschema", "datacontenttype", "time"}

func checkSpecVersion(version string) error {
	switch version {
	case specVersion:
		return nil
	case "":
		return Reject(CodeMissingAttribute, "specversion", "the CloudEvent has no specversion: write %q", specVersion)
	}
	return Reject(CodeUnknownVersion, "specversion", "CloudEvents version %s is not supported: write %q", quote(version), specVersion)
}

// openBinary reads the headers. Their names come in any case, so that one attribute can stand under several: which of
// them counts must not hang on the order of a map.
func openBinary(m Message) (*event.Event, error) {
	attributes := make(map[string]string, len(m.Header))
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		values := m.Header[name]
		attribute, ok := strings.CutPrefix(strings.ToLower(name), "ce-")
		if !ok || len(values) == 0 {
			continue
		}
		if _, twice := attributes[attribute]; twice || len(values) > 1 {
			return nil, Reject(CodeInvalidAttribute, printable(attribute), "attribute %s is given more than once", quote(attribute))
		}
		value, err := percentDecode(values[0])
		if err != nil {
			return nil, Reject(CodeInvalidAttribute, printable(attribute),
				"attribute %s is not percent-encoded: %s", quote(attribute), quote(values[0]))
		}
		attributes[attribute] = value
	}
	if ct := m.Header.Get(headerContentType); ct != "" {
		attributes["datacontenttype"] = ct
	}
	return newEvent(attributes, m.Body)
}

// newEvent makes the event of these attributes and holds it against the rules.
func newEvent(attributes map[string]string, data []byte) (*event.Event, error) {
	if err := checkSpecVersion(attributes["specversion"]); err != nil {
		return nil, err
	}
	e := event.New(event.CloudEventsVersionV1)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if name == "specversion" {
			continue
		}
		if err := setAttribute(&e, name, attributes[name]); err != nil {
			return nil, err
		}
	}
	e.DataEncoded = data
	return &e, checkAttributes(&e)
}

func setAttribute(e *event.Event, name, value string) error {
	// A value that is not text cannot be written into the log as JSON, and the round that tries would never end.
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return Reject(CodeInvalidAttribute, printable(name), "attribute %s is not text, or has control characters: %s", quote(name), quote(value))
	}
	switch name {
	case "id":
		e.SetID(value)
	case "source":
		if value != "" && types.ParseURIRef(value) == nil {
			return Reject(CodeInvalidAttribute, "source", "source %s is not a URI reference", quote(value))
		}
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
			return Reject(CodeInvalidAttribute, printable(name), "extension %s is not accepted: %s", quote(name), printable(err.Error()))
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
	var broken event.ValidationError
	if err := e.Validate(); errors.As(err, &broken) {
		name := slices.Min(slices.Collect(maps.Keys(broken)))
		return Reject(CodeInvalidAttribute, printable(name), "attribute %s breaks a rule: %s", quote(name), printable(broken[name].Error()))
	}
	if media, err := e.Context.GetDataMediaType(); err != nil || (media != "" && media != contentJSON) {
		return Reject(CodeInvalidAttribute, "datacontenttype", "datacontenttype %s is not supported: send %s", quote(e.DataContentType()), contentJSON)
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
		return Reject(CodeUnknownVersion, "type", "version %d of %s is not supported: send %s", kind.Version, want.Word(), want)
	}
	r.ID, r.Source = e.ID(), e.Source()
	if parent, ok := e.Extensions()["traceparent"].(string); ok {
		r.TraceParent = traceParent(parent)
	}
	return nil
}

// traceParent returns s if it is a W3C trace context, else "": a broken one is dropped, as the standard says.
func traceParent(s string) string {
	parts := strings.Split(s, "-")
	if len(s) != 55 || len(parts) != 4 || parts[0] == "ff" {
		return ""
	}
	for i, length := range []int{2, 32, 16, 2} {
		if len(parts[i]) != length || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return ""
		}
	}
	if strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return "" // all zeros say that there is none
	}
	return s
}

// SampledTrace returns the trace context as version 00 of the W3C's recommendation has it, or "" where its sender does not record the
// trace. The context came with a message. Flags that the version does not know have no effect.
func SampledTrace(traceParent string) string {
	const sampled = 1
	if traceParent == "" {
		return ""
	}
	flags, err := strconv.ParseUint(traceParent[len(traceParent)-2:], 16, 8)
	if err != nil || flags&sampled == 0 {
		return ""
	}
	return "00" + traceParent[2:len(traceParent)-2] + "01"
}

// CauseOf names a message of a stream as a direct cause: "<stream>/<sequence>".
func CauseOf(stream string, sequence uint64) string {
	return stream + "/" + strconv.FormatUint(sequence, 10)
}

// CauseIn returns the stream and the sequence of a message that CauseOf names; "" and 0 for what names none.
func CauseIn(cause string) (stream string, sequence uint64) {
	stream, number, _ := strings.Cut(cause, "/")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return "", 0
	}
	return stream, sequence
}

// Identity returns how the log remembers the request.
func (r Request) Identity() CommandIdentity {
	return CommandIdentity{Sequence: r.Sequence, Verb: r.Verb, ID: r.ID, Source: r.Source, Digest: r.Digest}
}

// String shows the request in logs.
func (r Request) String() string { return fmt.Sprintf("command %d (%s)", r.Sequence, r.Verb) }
