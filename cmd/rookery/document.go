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

	"github.com/rookery-project/rookery/cmd/rookery/compose"
	"github.com/rookery-project/rookery/events"
)

// documentKinds are the kinds of a document. Its fields kind and name give them, as in `kind: service` and `name: demo/web`. Without
// these fields a document is the bare body of a command.
var documentKinds = []string{"service", "job", "group", "policy"}

// maxDocuments bounds the documents of one file.
const maxDocuments = 1000

// document is one document of a file, in JSON.
type document struct {
	kind, name string // "" for a bare body
	body       []byte // without kind and name
}

// readDocuments reads a file of JSON or YAML; "-" is standard input. In YAML a line "---" separates documents.
func readDocuments(in io.Reader, file string) ([]document, error) {
	body, err := readFile(in, file)
	if err != nil {
		return nil, err
	}
	return documentsOf(file, body)
}

func documentsOf(file string, body []byte) ([]document, error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) { // not rewritten, so that errors give the right offset
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
			return nil, inDocument(file, len(all), fmt.Errorf("want JSON or YAML with fields and values: %w", err))
		}
		if len(content) == 0 {
			continue
		}
		if len(all) == maxDocuments {
			return nil, fmt.Errorf("read %s: more than %d documents: split the file", file, maxDocuments)
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

// newDocument finds the kind of a JSON object. It passes on other values, and objects with a repeated field, because the command's
// own parser refuses them with a better error.
func newDocument(body []byte) (document, error) {
	var fields map[string]jsontext.Value
	if json.Unmarshal(body, &fields) != nil {
		return document{body: body}, nil
	}
	d := document{body: body}
	if fields["kind"].Kind() != '"' { // a list of services can have a service named kind
		return d, nil
	}
	if err := errors.Join(json.Unmarshal(fields["kind"], &d.kind), json.Unmarshal(fields["name"], &d.name)); err != nil {
		return d, errors.New("a document with a kind needs a name, as in name: demo/web")
	}
	if !slices.Contains(documentKinds, d.kind) {
		return d, fmt.Errorf("unknown kind %q: want %s", d.kind, strings.Join(documentKinds, ", "))
	}
	delete(fields, "kind")
	delete(fields, "name")
	var err error
	d.body, err = json.Marshal(fields, json.Deterministic(true))
	return d, err
}

// readOne reads the only document of a file. It must have one of these kinds and this name, or be a bare body.
func readOne(in io.Reader, file, name string, kinds ...string) ([]byte, error) {
	all, err := readDocuments(in, file)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("read %s: it has %d documents, but this command takes one: use rookery apply", file, len(all))
	}
	switch d := all[0]; {
	case d.kind == "":
		return d.body, nil
	case !slices.Contains(kinds, d.kind):
		return nil, fmt.Errorf("read %s: it is a %s, but this command takes a %s: use rookery apply", file, d.kind, strings.Join(kinds, " or a "))
	case d.name != name:
		return nil, fmt.Errorf("read %s: it is the %s %s, but the command names %s", file, d.kind, d.name, name)
	case d.kind == "job":
		return asJob(d.body)
	default:
		return d.body, nil
	}
}

// asJob returns the spec of a job. It adds the mode, which a document of kind job can omit.
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

// isSpec reports whether a document without a kind is the spec of one service, and not a list of services by name.
func (d document) isSpec() bool {
	var content struct {
		Image string `json:"image"`
	}
	return json.Unmarshal(d.body, &content) == nil && content.Image != ""
}

// located puts the path of the field before a rejection whose reason lacks it.
func located(err error) error {
	var rejection *events.Rejection
	if !errors.As(err, &rejection) || strings.Contains(rejection.Reason, rejection.Field) {
		return err
	}
	return fmt.Errorf("%s: %w", rejection.Field, err)
}

// isCompose reports whether a document without a kind is a Compose file.
func (d document) isCompose() bool {
	var content map[string]any
	return json.Unmarshal(d.body, &content) == nil && compose.Is(content)
}
