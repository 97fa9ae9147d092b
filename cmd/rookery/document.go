package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// documentKinds are what a document may be. One says so in its fields kind and name, as in `kind: service` and `name: demo/web`; without
// these it is the bare body of a command.
var documentKinds = []string{"service", "job", "group", "policy"}

// maxDocuments bounds how many documents a file has.
const maxDocuments = 1000

// document is one of a file, in JSON.
type document struct {
	kind, name string // "" where it does not say
	body       []byte // without the field that says so
}

// readDocuments reads a file of JSON or YAML, "-" for standard input. In YAML a line "---" divides documents.
func readDocuments(in io.Reader, file string) ([]document, error) {
	body, err := readFile(in, file)
	if err != nil {
		return nil, err
	}
	return documentsOf(file, body)
}

func documentsOf(file string, body []byte) ([]document, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) { // it stays as it is, so that errors say where they are
		d, err := newDocument(body)
		return []document{d}, inDocument(file, 0, err)
	}
	var all []document
	for decoder := yaml.NewDecoder(bytes.NewReader(body)); ; {
		var content map[string]any
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, inDocument(file, len(all), fmt.Errorf("it is neither JSON nor YAML of fields and values: %w", err))
		}
		if len(content) == 0 {
			continue
		}
		if len(all) == maxDocuments {
			return nil, fmt.Errorf("read %s: it has more than %d documents: divide it", file, maxDocuments)
		}
		plain, err := json.Marshal(content, json.Deterministic(true))
		if err != nil {
			return nil, inDocument(file, len(all), err)
		}
		d, err := newDocument(plain)
		if err != nil {
			return nil, inDocument(file, len(all), err)
		}
		all = append(all, d)
	}
}

func inDocument(file string, index int, err error) error {
	switch {
	case err == nil:
		return nil
	case index == 0:
		return fmt.Errorf("read %s: %w", file, err)
	}
	return fmt.Errorf("read %s, document %d: %w", file, index+1, err)
}

// newDocument finds out what a JSON object is. What is no object, or has a field twice, is for the command's own reader to refuse.
func newDocument(body []byte) (document, error) {
	var fields map[string]jsontext.Value
	if json.Unmarshal(body, &fields) != nil {
		return document{body: body}, nil
	}
	d := document{body: body}
	if fields["kind"].Kind() != '"' { // a list of services may have one of that name
		return d, nil
	}
	if err := errors.Join(json.Unmarshal(fields["kind"], &d.kind), json.Unmarshal(fields["name"], &d.name)); err != nil {
		return d, errors.New("a document with a kind needs a name, as in name: demo/web")
	}
	if !slices.Contains(documentKinds, d.kind) {
		return d, fmt.Errorf("kind %q is not known: want %s", d.kind, strings.Join(documentKinds, ", "))
	}
	delete(fields, "kind")
	delete(fields, "name")
	var err error
	d.body, err = json.Marshal(fields, json.Deterministic(true))
	return d, err
}

// readOne reads the one document of a file that a command takes: one of these kinds and of this name, or a bare body.
func readOne(in io.Reader, file, name string, kinds ...string) ([]byte, error) {
	all, err := readDocuments(in, file)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("read %s: it has %d documents, and this command takes one: give them to rookery apply", file, len(all))
	}
	switch d := all[0]; {
	case d.kind == "":
		return d.body, nil
	case !slices.Contains(kinds, d.kind):
		return nil, fmt.Errorf("read %s: it is a %s, and this command takes a %s: give it to rookery apply", file, d.kind, strings.Join(kinds, " or a "))
	case d.name != name:
		return nil, fmt.Errorf("read %s: it is the %s %s, and not %s", file, d.kind, d.name, name)
	case d.kind == "job":
		return asJob(d.body)
	default:
		return d.body, nil
	}
}

// asJob returns the spec of a job, whose mode the document need not repeat.
func asJob(body []byte) ([]byte, error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	if fields["mode"] == nil {
		fields["mode"] = jsontext.Value(`"job"`)
	}
	return json.Marshal(fields, json.Deterministic(true))
}
