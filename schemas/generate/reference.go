package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// reference is where the reference of all messages stands, below the folder schemas.
const reference = "README.md"

const referenceHead = `# Specs, messages, views and questions

Every message has a JSON Schema at ` + "`<thing>/v<version>/<name>.json`" + `. This page is generated from the Go types and their comments:
` + "`make schemas`" + `. ` + "`rookery schema service`" + ` prints the schema of a document for editors.

`

// schema is what the reference shows of one.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        any                `json:"type"`
	Description string             `json:"description"`
	Properties  fields             `json:"properties"`
	Items       *schema            `json:"items"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Required    []string           `json:"required"`
	Enum        []any              `json:"enum"`
	Minimum     json.Number        `json:"minimum"`
	Maximum     json.Number        `json:"maximum"`
	OneOf       []*schema          `json:"oneOf"`
	AnyOf       []*schema          `json:"anyOf"`
	Definitions map[string]*schema `json:"$defs"`
}

// UnmarshalJSON implements json.Unmarshaler: true is the schema of anything.
func (s *schema) UnmarshalJSON(body []byte) error {
	type plain schema
	if len(body) == 0 || body[0] != '{' {
		return nil
	}
	return json.Unmarshal(body, (*plain)(s))
}

// fields are properties in the order of the schema, which is that of the Go type.
type fields []field

type field struct {
	name string
	schema
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *fields) UnmarshalJSON(body []byte) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var s schema
		if err := d.Decode(&s); err != nil {
			return err
		}
		*f = append(*f, field{fmt.Sprint(name), s})
	}
	return nil
}

// writeReference returns the reference of these schemas.
func writeReference(files map[string][]byte) ([]byte, error) {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, document := range []struct{ title, path string }{
		{"The spec of a service or job", events.ServiceEnsure{}.Kind().SchemaPath()},
		{"A group", events.GroupEnsure{}.Kind().SchemaPath()},
		{"The policy of the cluster", events.ClusterPolicy{}.Kind().SchemaPath()},
	} {
		s, err := read(files[document.path])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "## %s\n\n", document.title)
		writeFields(&b, s.Properties, s.Required)
		for _, name := range slices.Sorted(maps.Keys(s.Definitions)) {
			if d := s.Definitions[name]; len(d.Properties) > 0 {
				fmt.Fprintf(&b, "### %s\n\n%s\n\n", name, cell(d.Description))
				writeFields(&b, d.Properties, d.Required)
			}
		}
	}
	for _, codes := range []struct{ title, kind, path string }{
		{"Codes of rejections", "Code", "events/rejection.go"},
		{"Reasons of failures", "FailureReason", "events/command_failed.go"},
		{"Reasons of instances that are offline", "OfflineReason", "events/phase.go"},
	} {
		if err := writeCodes(&b, codes.title, codes.kind, codes.path); err != nil {
			return nil, err
		}
	}
	things := map[string][]string{}
	for path := range files {
		thing, _, _ := strings.Cut(path, "/")
		things[thing] = append(things[thing], path)
	}
	b.WriteString("## All messages\n\n| message | schema | what it is |\n|---|---|---|\n")
	for _, thing := range slices.Sorted(maps.Keys(things)) {
		for _, path := range slices.Sorted(slices.Values(things[thing])) {
			s, err := read(files[path])
			if err != nil {
				return nil, err
			}
			word := strings.TrimSuffix(strings.ReplaceAll(strings.Join(slices.Delete(strings.Split(path, "/"), 1, 2), "."), "/", "."), ".json")
			fmt.Fprintf(&b, "| `%s` | [%s](%s) | %s |\n", word, path, path, cell(s.Description))
		}
	}
	return []byte(b.String()), nil
}

func read(body []byte) (s schema, err error) { return s, json.Unmarshal(body, &s) }

func writeFields(b *strings.Builder, all fields, required []string) {
	b.WriteString("| field | type | what it says |\n|---|---|---|\n")
	for _, f := range all {
		said := cell(f.Description)
		if slices.Contains(required, f.name) {
			said = strings.TrimSpace("Required. " + said)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.name, typeOf(&f.schema), said)
	}
	b.WriteString("\n")
}

// writeCodes writes the constants of a type, and what their comments say.
func writeCodes(b *strings.Builder, title, kind, path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "## %s\n\n| code | meaning |\n|---|---|\n", title)
	ast.Inspect(file, func(n ast.Node) bool {
		c, is := n.(*ast.ValueSpec)
		if !is || len(c.Values) != 1 {
			return true
		}
		of, named := c.Type.(*ast.Ident)
		value, literal := c.Values[0].(*ast.BasicLit)
		if !named || !literal || of.Name != kind {
			return true
		}
		said := strings.TrimPrefix(c.Comment.Text()+c.Doc.Text(), c.Names[0].Name+": ")
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.Trim(value.Value, `"`), cell(strings.TrimSpace(said)))
		return true
	})
	b.WriteString("\n")
	return nil
}

// typeOf says in a word what a value is.
func typeOf(s *schema) string {
	switch {
	case s.Ref != "":
		return "[" + s.Ref[strings.LastIndex(s.Ref, "/")+1:] + "](#" + strings.ToLower(strings.ReplaceAll(s.Ref[strings.LastIndex(s.Ref, "/")+1:], ".", "")) + ")"
	case len(s.Enum) > 0:
		var words []string
		for _, e := range s.Enum {
			words = append(words, fmt.Sprintf("`%v`", e))
		}
		return strings.Join(words, ", ")
	case s.Items != nil:
		return "list of " + typeOf(s.Items)
	case len(s.OneOf)+len(s.AnyOf) > 0:
		var words []string
		for _, one := range append(s.OneOf, s.AnyOf...) {
			words = append(words, typeOf(one))
		}
		return strings.Join(slices.Compact(words), " or ")
	case s.Type == "object":
		return "object"
	case s.Minimum != "" && s.Maximum != "":
		return fmt.Sprintf("%v, %s to %s", s.Type, s.Minimum, s.Maximum)
	case s.Minimum != "":
		return fmt.Sprintf("%v, %s or more", s.Type, s.Minimum)
	case s.Type == nil:
		return "any"
	}
	return fmt.Sprint(s.Type)
}

// cell is a text in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;", ">", "&gt;", "\n", " ").Replace(text)
}
