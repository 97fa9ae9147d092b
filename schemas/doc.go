// Package schemas holds the JSON Schema of every message, for people and programs that write or check messages
// without Go: <thing>/v<version>/<name>.json is that of the type io.rookery.<thing>.v<version>.<name>.
//
// The files are made from the types of package events and checked in; a test fails when they are not what the types
// say. They say what the body of a message is, and not its envelope, which is a CloudEvent:
//
//	events (types, tags, comments) → go generate ./schemas → *.json → Files
//
// The package never decides anything: commands are checked by package events, which explains what is wrong.
package schemas

import "embed"

//go:generate go run ./generate

// Files holds the schemas under their paths, those of events.Kind.SchemaPath.
//
//go:embed */v*/*.json
var Files embed.FS
