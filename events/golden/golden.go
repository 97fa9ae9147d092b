// Package golden holds a log of each version of the events that was ever released; together they have every kind of event. None is
// written again: a new version of an event gets a log of its own.
package golden

import (
	"embed"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/events"
)

//go:embed *.json
var logs embed.FS

// message is one of a log, which is a JSON array of them.
type message struct {
	Subject string        `json:"subject"`
	Header  events.Header `json:"header"`
	Body    string        `json:"body"`
}

// Names lists the logs in order, as in v1.json.
func Names() []string {
	entries, err := logs.ReadDir(".")
	if err != nil {
		panic(err) // it is part of the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	return names
}

// Read returns the messages of the log of that name, with their sequences from 1.
func Read(name string) ([]events.Message, error) {
	body, err := logs.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var kept []message
	if err := json.Unmarshal(body, &kept); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	messages := make([]events.Message, len(kept))
	for i, k := range kept {
		messages[i] = events.Message{Subject: k.Subject, Header: k.Header, Body: []byte(k.Body), Sequence: uint64(i) + 1}
	}
	return messages, nil
}

// Encode returns what a file with these messages has.
func Encode(messages []events.Message) ([]byte, error) {
	kept := make([]message, len(messages))
	for i, m := range messages {
		kept[i] = message{Subject: m.Subject, Header: m.Header, Body: string(m.Body)}
	}
	body, err := json.Marshal(kept, jsontext.WithIndent(" "), json.Deterministic(true))
	return append(body, '\n'), err
}
