// Command generate writes the JSON Schemas of all messages. It runs in the folder schemas, by go generate.
package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/rookery-project/rookery/events"
)

const (
	module = "github.com/rookery-project/rookery"
	// source and target are below the module's root, which is where the generator works: the reflector makes the
	// packages' import paths out of paths that it walks.
	source = "events"
	target = "schemas"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate schemas:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := os.Chdir(".."); err != nil {
		return err
	}
	files, err := generate()
	if err != nil {
		return err
	}
	standing, err := filepath.Glob(filepath.Join(target, "*", "v*", "*.json"))
	if err != nil {
		return err
	}
	for _, path := range standing {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for path, body := range files {
		path = filepath.Join(target, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the schemas of all kinds by their paths. The working directory must be the module's root.
func generate() (map[string][]byte, error) {
	enums, err := constants(source)
	if err != nil {
		return nil, err
	}
	r := &jsonschema.Reflector{
		Anonymous:      true, // the ids are those of the messages' types, not of Go's
		ExpandedStruct: true,
		Mapper:         func(t reflect.Type) *jsonschema.Schema { return known(t, enums) },
	}
	if err := r.AddGoComments(module, "./"+source, jsonschema.WithFullComment()); err != nil {
		return nil, fmt.Errorf("read the comments: %w", err)
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	files := map[string][]byte{}
	for _, sample := range events.Samples() {
		kind := sample.Kind()
		s := r.Reflect(sample)
		s.ID = jsonschema.ID(kind.Schema())
		s.Title = kind.Word()
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(s); err != nil {
			return nil, fmt.Errorf("write %s: %w", kind, err)
		}
		files[kind.SchemaPath()] = b.Bytes()
	}
	return files, nil
}

// known returns the schema of a type whose JSON the reflector does not know or says too little of, else nil.
func known(t reflect.Type, enums map[string][]any) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[events.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`}
	case reflect.TypeFor[events.Size]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?(B|[kKMGT]B|[KMGT]iB)$`}
	case reflect.TypeFor[events.CPU]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?m?$`}
	case reflect.TypeFor[events.Chain]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9a-f]{64}$`}
	case reflect.TypeFor[events.Ordinals]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$`}
	case reflect.TypeFor[events.Phase]():
		return &jsonschema.Schema{Type: "string", Enum: phases()}
	}
	if values := enums[t.Name()]; values != nil && t.PkgPath() == module+"/"+source {
		return &jsonschema.Schema{Type: "string", Enum: values}
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		panic(t.String() + " is written as text in a way that this generator does not know")
	}
	if t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 {
		greatest := uint64(math.MaxUint64) >> (64 - t.Bits())
		return &jsonschema.Schema{Type: "integer", Minimum: "0", Maximum: json.Number(strconv.FormatUint(greatest, 10))}
	}
	return nil
}

func phases() []any {
	var names []any
	for p := events.PhasePlaced; p <= events.PhaseRemoved; p++ {
		names = append(names, p.String())
	}
	return names
}

// constants returns the values of the string constants of the package in folder, by the name of their type.
func constants(folder string) (map[string][]any, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	found := map[string][]any{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.CONST {
				collect(group, found)
			}
		}
	}
	return found, nil
}

func collect(group *ast.GenDecl, found map[string][]any) {
	for _, spec := range group.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		name, ok := value.Type.(*ast.Ident)
		if !ok {
			continue
		}
		for _, v := range value.Values {
			if literal, ok := v.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					found[name.Name] = append(found[name.Name], text)
				}
			}
		}
	}
}
