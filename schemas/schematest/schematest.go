// Package schematest checks bodies against their JSON Schemas, for tests.
package schematest

import (
	"bytes"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/schemas"
)

var compiled sync.Map // of *jsonschema.Schema by their events.Kind

// Compile returns the schema of the kind. It fails the test if there is none.
func Compile(t testing.TB, kind events.Kind) *jsonschema.Schema {
	t.Helper()
	if s, ok := compiled.Load(kind); ok {
		return s.(*jsonschema.Schema)
	}
	body, err := schemas.Files.ReadFile(kind.SchemaPath())
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	id := kind.Schema()
	if err := c.AddResource(id, document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	compiled.Store(kind, s)
	return s
}

// Validate returns an error that says where the body breaks the schema of the kind; nil where it does not.
func Validate(t testing.TB, kind events.Kind, body []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return Compile(t, kind).Validate(value)
}
