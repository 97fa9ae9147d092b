// Package schemas holds the JSON Schema of every message, for people and programs that write or check messages
// without Go: <thing>/v<version>/<name>.json is that of the type io.rookery.<thing>.v<version>.<name>. Beside them stand those of the
// views (view/v1/services.json), and of questions and their answers (question/v1/state.json, answer/v1/state.json).
//
// The files are made from the types and checked in; a test fails when they are not what the types
// say. They say what the body of a message is, and not its envelope, which is a CloudEvent:
//
//	types, tags, comments → go generate ./schemas → *.json → Files
//
// The package never decides anything: commands are checked by package events, which explains what is wrong.
package schemas

import (
	"embed"
	"strings"

	"github.com/rookery-project/rookery/events"
)

//go:generate go run ./generate

// Files holds the schemas under their paths, those of events.Kind.SchemaPath.
//
//go:embed */v*/*.json
var Files embed.FS

// View returns what the schema of the values of a bucket goes by.
func View(bucket string) events.Kind {
	return events.Kind{Thing: "view", Version: 1, Name: strings.TrimPrefix(bucket, "rookery_")}
}

// Question returns what the schema of a question goes by.
func Question(name string) events.Kind { return events.Kind{Thing: "question", Version: 1, Name: name} }

// Answer returns what the schema of the answers to a question goes by.
func Answer(name string) events.Kind { return events.Kind{Thing: "answer", Version: 1, Name: name} }

// Refusal returns what the schema of the answer to any question that could not be answered goes by.
func Refusal() events.Kind { return Answer("error") }
