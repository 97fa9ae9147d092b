package events

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Limits of what is read of an instance's output.
const (
	// MaxLogLine is the greatest length of a line in bytes; what is behind it is cut off, with CutMark in its place.
	MaxLogLine = 16 << 10
	// MaxTail is the greatest number of last lines that can be asked for: more than a container's log can hold.
	MaxTail = 1 << 20
	// CutMark is at the end of a line that was too long.
	CutMark = " … (cut)"
)

// LogsRequest opens a session of kind logs.
type LogsRequest struct {
	// Since is the time from which on lines are wanted; zero for all that there are.
	Since time.Time `json:"since,omitzero"`
	// Tail is how many of the last lines are wanted; nil for all.
	Tail *int `json:"tail,omitempty"`
	// Follow continues the session with what is printed from now on, until the container ends.
	Follow bool `json:"follow,omitzero"`
}

// ParseLogsRequest reads a request. Its error says in a sentence what is wrong.
func ParseLogsRequest(body []byte) (LogsRequest, error) {
	var r LogsRequest
	if err := json.Unmarshal(body, &r, json.RejectUnknownMembers(true)); err != nil {
		return r, fmt.Errorf(`the request cannot be parsed: %w: write {"tail":20,"follow":true,"since":"2026-11-01T12:00:00Z"}, or less of it`, err)
	}
	if r.Tail != nil && (*r.Tail < 0 || *r.Tail > MaxTail) {
		return r, fmt.Errorf("tail %d is out of range: give 0 to %d", *r.Tail, MaxTail)
	}
	return r, nil
}

// Stream is one of the two that a process writes.
type Stream string

// The streams.
const (
	Stdout Stream = "stdout"
	Stderr Stream = "stderr"
)

// LogLine is a line that an instance has printed.
type LogLine struct {
	// Time is when it was printed, as exactly as the engine tells it: an older Podman does to the second.
	Time   time.Time `json:"time"`
	Stream Stream    `json:"stream"`
	// Text is the line without its end.
	Text string `json:"text"`
}

// AppendTo appends the line as it goes over the bus: its time, its stream and its text, parted by a space.
func (l LogLine) AppendTo(b []byte) []byte {
	b = l.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(append(append(b, ' '), l.Stream...), ' ')
	text, cut := strings.ToValidUTF8(l.Text, "\uFFFD"), "" // what is printed may be anything, and longer as a text
	if max(len(l.Text), len(text)) > MaxLogLine {
		text, cut = strings.ToValidUTF8(text[:min(len(text), MaxLogLine)], ""), CutMark // a character that was cut too is left out
	}
	return append(append(append(b, text...), cut...), '\n')
}

// ParseLogLines reads lines as AppendTo writes them.
func ParseLogLines(body []byte) ([]LogLine, error) {
	var lines []LogLine
	for line := range bytes.Lines(body) {
		at, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{'\n'}), []byte{' '})
		stream, text, ok := bytes.Cut(rest, []byte{' '})
		t, err := time.Parse(time.RFC3339Nano, string(at))
		if err != nil || !ok {
			return nil, fmt.Errorf("not a line of a log: %s", quote(string(line)))
		}
		lines = append(lines, LogLine{Time: t, Stream: Stream(stream), Text: string(text)})
	}
	return lines, nil
}
