package capsule

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/events"
)

// Version is the version of the format.
const Version = 1

// Limits of a capsule.
const (
	// MaxSize is the greatest size of a capsule in bytes.
	MaxSize = 256 << 20
	// MaxMessages is the most messages of the log that a capsule holds.
	MaxMessages = 500_000
)

// ErrCapsule occurs when a capsule cannot be read, wrapped with the reason.
var ErrCapsule = errors.New("not a capsule")

// Capsule is a self-contained file that reproduces a bug.
type Capsule struct {
	// Version is 1.
	Version int  `json:"capsule"`
	Made    Made `json:"made"`
	// Simulated is a run in simulated time; nil if the capsule has none.
	Simulated *Simulated `json:"simulated,omitempty"`
	// Recorded is what a cluster has recorded; nil if the capsule has none.
	Recorded *Recorded `json:"recorded,omitempty"`
}

// Made says what made the capsule: the program, and the version of the source that it was built from.
type Made struct {
	By      string `json:"by"`
	Version string `json:"version"`
}

// VersionOf returns the version of the source from which a program was built, as the program itself knows it.
func VersionOf(info *debug.BuildInfo, known bool) string {
	version := "unknown, as it was built without -buildvcs"
	if !known {
		return version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			version += " and changes"
		}
	}
	return version
}

// Simulated is a run that broke a promise.
type Simulated struct {
	// Plan is the plan of the run, as cmd/simulation writes it.
	Plan   jsontext.Value `json:"plan"`
	Broken Broken         `json:"broken"`
}

// Broken is the promise that the run broke, how, and when in the run's own time.
type Broken struct {
	Promise string `json:"promise"`
	What    string `json:"what"`
	At      string `json:"at,omitempty"`
}

// Recorded is a log in which something is wrong between From and To.
type Recorded struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Log has the messages of the log from the first to To: those before From give the state there.
	Log []Message `json:"log"`
	// Commands are the commands that this part answers, as far as the bus still had them.
	Commands []Message `json:"commands"`
}

// Message is a message of a stream.
type Message struct {
	Sequence uint64        `json:"sequence"`
	Time     time.Time     `json:"time,omitzero"`
	Subject  string        `json:"subject"`
	Header   events.Header `json:"header,omitempty"`
	// Body is a body that is text, and Raw is any other body.
	Body string `json:"body,omitempty"`
	Raw  []byte `json:"raw,omitempty"`
}

// Keep returns the message as a capsule holds it.
func Keep(m events.Message) Message {
	kept := Message{Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Header: m.Header}
	if utf8.Valid(m.Body) {
		kept.Body = string(m.Body)
	} else {
		kept.Raw = m.Body
	}
	return kept
}

// Message returns the message as it was.
func (m Message) Message() events.Message {
	body := m.Raw
	if body == nil {
		body = []byte(m.Body)
	}
	return events.Message{Sequence: m.Sequence, Time: m.Time, Subject: m.Subject, Header: m.Header, Body: body}
}

// Write returns the capsule as the content of a file. Equal capsules give equal files.
func Write(c Capsule) ([]byte, error) {
	c.Version = Version
	body, err := json.Marshal(c, json.Deterministic(true), jsontext.WithIndent(" "))
	if err != nil {
		return nil, err
	}
	if len(body) > MaxSize {
		return nil, fmt.Errorf("the capsule has %d bytes, want at most %d: choose a part that ends earlier", len(body), MaxSize)
	}
	return append(body, '\n'), nil
}

// Read reads what Write wrote. It rejects unknown content, and reports capsules of another version as such.
func Read(body []byte) (Capsule, error) {
	var c Capsule
	if len(body) > MaxSize+1 {
		return c, fmt.Errorf("%w: it has %d bytes, want at most %d", ErrCapsule, len(body), MaxSize)
	}
	var of struct {
		Version int `json:"capsule"`
	}
	if err := json.Unmarshal(body, &of); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCapsule, err)
	}
	if of.Version != Version {
		return c, fmt.Errorf("%w that this version reads: its format is %d, and %d is known: use the version of Rookery that made it, or a newer one",
			ErrCapsule, of.Version, Version)
	}
	if err := json.Unmarshal(body, &c, json.RejectUnknownMembers(true)); err != nil {
		return c, fmt.Errorf("%w: %w", ErrCapsule, err)
	}
	return c, c.check()
}

func (c Capsule) check() error {
	switch r := c.Recorded; {
	case (c.Simulated == nil) == (r == nil):
		return fmt.Errorf("%w: it must hold either a simulated run or a recorded log", ErrCapsule)
	case c.Simulated != nil && (len(c.Simulated.Plan) == 0 || c.Simulated.Broken.Promise == ""):
		return fmt.Errorf("%w: its run has no plan, or does not name the promise that it breaks", ErrCapsule)
	case r != nil && len(r.Log) > MaxMessages:
		return fmt.Errorf("%w: its log has %d messages, want at most %d", ErrCapsule, len(r.Log), MaxMessages)
	case r != nil && (r.From == 0 || r.From > r.To || r.To > uint64(len(r.Log))):
		return fmt.Errorf("%w: it is of sequence %d to %d, and its log has %d messages", ErrCapsule, r.From, r.To, len(r.Log))
	}
	return nil
}
