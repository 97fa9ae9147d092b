// Package schemas holds the JSON Schema of every message, for clients that write or check messages without Go. The file
// <thing>/v<version>/<name>.json is the schema of the type io.rookery.<thing>.v<version>.<name>. Other files hold the schemas of the
// views (view/v1/services.json), and of questions and their answers (question/v1/state.json, answer/v1/state.json).
//
// The generator makes the files from the Go types, and they are checked in. A test fails when they do not match the types. A schema
// describes the body of a message, but not its envelope, which is a CloudEvent:
//
//	types, tags, comments → go generate ./schemas → *.json → Files
//
// The package decides nothing: package events checks commands, and explains what is wrong with them.
package schemas

import (
	"embed"
	"strings"

	"github.com/rookery-project/rookery/events"
)

//go:generate go run ./generate

// Files holds the schemas under the paths that events.Kind.SchemaPath returns.
//
//go:embed */v*/*.json
var Files embed.FS

// View returns the kind of the schema for the values of a bucket.
func View(bucket string) events.Kind {
	return events.Kind{Thing: "view", Version: 1, Name: strings.TrimPrefix(bucket, "rookery_")}
}

// Question returns the kind of the schema for a question.
func Question(name string) events.Kind { return events.Kind{Thing: "question", Version: 1, Name: name} }

// Answer returns the kind of the schema for the answers to a question.
func Answer(name string) events.Kind { return events.Kind{Thing: "answer", Version: 1, Name: name} }

// Refusal returns the kind of the schema for the error that answers a question which the coordinator cannot answer.
func Refusal() events.Kind { return Answer("error") }
