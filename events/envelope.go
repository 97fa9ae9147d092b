package events

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// The headers of CloudEvents' binary mode.
const (
	headerSpecVersion = "ce-specversion"
	headerID          = "ce-id"
	headerSource      = "ce-source"
	headerType        = "ce-type"
	headerTime        = "ce-time"
	headerCorrelation = "ce-correlationid"
	headerCausation   = "ce-causationid"
	headerTrace       = "ce-traceparent"
	headerActor       = "ce-actor"
	headerDataType    = "ce-datacontenttype"
	headerDataSchema  = "ce-dataschema"
	// headerContentType is the one by which others say that a message is in structured mode.
	headerContentType = "Content-Type"

	specVersion     = "1.0"
	contentJSON     = "application/json"
	contentEnvelope = "application/cloudevents+json"
)

// Errors of Decode.
var (
	// ErrUnknownType occurs when a message's type is not in the registry: it was written by a newer Rookery.
	ErrUnknownType = errors.New("unknown message type")
	// ErrMalformed occurs when a message that Rookery wrote itself does not read back.
	ErrMalformed = errors.New("malformed message")
)

// Cause says what led to a message.
type Cause struct {
	// Correlation is the command's sequence in ROOKERY_COMMANDS; 0 where no command led to it.
	Correlation uint64
	// Causation is the direct cause, as "<stream>/<sequence>", or "".
	Causation string
	// TraceParent is the W3C trace context of the command's sender, or "".
	TraceParent string
	// Actor is the user that sent the command, or "" where accounts are off. It is in clusters from LevelActors on.
	Actor string `json:",omitzero"`
}

// Of returns the same cause for a step of the command with that cause. Its actor is who caused the step: of the command, if this cause has none.
func (c Cause) Of(command Cause) Cause {
	c.Correlation, c.TraceParent, c.Actor = command.Correlation, command.TraceParent, cmp.Or(c.Actor, command.Actor)
	return c
}

// Attributes are the CloudEvents attributes of a message that Rookery writes.
type Attributes struct {
	// ID is unique below Source.
	ID     string
	Source string
	Time   time.Time
	Cause  Cause
	// Program is that of the sender. Events do not have it: the log must not depend on the program that leads.
	Program Program
}

// Encode writes data as a CloudEvent in binary mode: the attributes in headers, the plain JSON in the body.
func Encode(subject string, data Data, a Attributes) (Message, error) {
	body, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return Message{}, fmt.Errorf("encode %s: %w", data.Kind(), err)
	}
	return Message{Subject: subject, Header: a.header(data.Kind()), Body: body}, nil
}

// header writes the attributes. All values are in one piece, and two more find room, as others add them.
func (a Attributes) header(kind Kind) Header {
	const most, more = 13, 2
	names, values := make([]string, 0, most), make([]string, 0, most)
	set := func(name, value string) { names, values = append(names, name), append(values, value) }
	set(headerSpecVersion, specVersion)
	set(headerID, a.ID)
	set(headerSource, a.Source)
	set(headerType, kind.String())
	set(headerTime, a.Time.UTC().Format(time.RFC3339Nano))
	set(headerDataType, contentJSON)
	set(headerDataSchema, kind.Schema())
	if a.Cause.Correlation != 0 {
		set(headerCorrelation, strconv.FormatUint(a.Cause.Correlation, 10))
	}
	if a.Cause.Causation != "" {
		set(headerCausation, a.Cause.Causation)
	}
	if a.Cause.TraceParent != "" {
		set(headerTrace, percentEncode(a.Cause.TraceParent))
	}
	if a.Cause.Actor != "" {
		set(headerActor, a.Cause.Actor)
	}
	if a.Program.Levels != (Levels{}) {
		set(headerLevels, a.Program.Levels.String())
	}
	if a.Program.Version != "" {
		set(headerVersion, a.Program.Version)
	}
	h := make(Header, len(names)+more)
	for i, name := range names {
		h[name] = values[i : i+1 : i+1]
	}
	return h
}

// TraceParentOf returns the W3C trace context of the command that a message of Rookery's is due to, or "".
func TraceParentOf(m Message) string {
	parent, err := percentDecode(m.Header.reader()(headerTrace))
	if err != nil {
		return ""
	}
	return traceParent(parent)
}

// ActorOf returns the user whose command a message of Rookery's is due to, or "".
func ActorOf(m Message) string { return m.Header.reader()(headerActor) }

// Decode reads a message that Rookery wrote. It returns ErrUnknownType or ErrMalformed, wrapped with the subject.
func Decode(m Message) (Data, Attributes, error) {
	read := m.Header.reader()
	data, err := standard.decode(read(headerType), m.Body)
	if err != nil {
		return nil, Attributes{}, fmt.Errorf("%s: %w", m.Subject, err)
	}
	at, err := time.Parse(time.RFC3339Nano, read(headerTime))
	if err != nil {
		return nil, Attributes{}, fmt.Errorf("%s: %w: %s: %w", m.Subject, ErrMalformed, headerTime, err)
	}
	a := Attributes{ID: read(headerID), Source: read(headerSource), Time: at}
	if c := read(headerCorrelation); c != "" {
		if a.Cause.Correlation, err = strconv.ParseUint(c, 10, 64); err != nil {
			return nil, Attributes{}, fmt.Errorf("%s: %w: %s: %w", m.Subject, ErrMalformed, headerCorrelation, err)
		}
	}
	a.Cause.Causation = read(headerCausation)
	if a.Cause.TraceParent, err = percentDecode(read(headerTrace)); err != nil {
		return nil, Attributes{}, fmt.Errorf("%s: %w: %s: %w", m.Subject, ErrMalformed, headerTrace, err)
	}
	if a.Cause.Actor = read(headerActor); a.Cause.Actor != "" && !ValidName(a.Cause.Actor) {
		return nil, Attributes{}, fmt.Errorf("%s: %w: %s is not a name", m.Subject, ErrMalformed, headerActor)
	}
	if a.Program, err = program(read); err != nil {
		return nil, Attributes{}, fmt.Errorf("%s: %w: %w", m.Subject, ErrMalformed, err)
	}
	return data, a, nil
}

// DecodeAs is Decode for a caller that takes one kind alone.
func DecodeAs[T Data](m Message) (T, Attributes, error) {
	data, a, err := Decode(m)
	if err != nil {
		var none T
		return none, a, err
	}
	typed, ok := data.(T)
	if !ok {
		return typed, a, fmt.Errorf("%s: %w: it is a %s, not a %s", m.Subject, ErrMalformed, data.Kind(), typed.Kind())
	}
	return typed, a, nil
}
