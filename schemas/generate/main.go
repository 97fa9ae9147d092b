// Command generate writes the JSON Schemas of all messages. go generate runs it in the folder schemas.
package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/views"
	"github.com/rookery-project/rookery/schemas"
)

const (
	module = "github.com/rookery-project/rookery"
	// target is relative to the module's root, the generator's working directory: the reflector derives import paths from the paths that it
	// walks.
	target = "schemas"
)

// sources are the folders with the types, subfolders included.
var sources = []string{"events", "projections", "coordinator"}

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
		if lifted(path) {
			continue
		}
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

// lifted reports whether the file has the schema of an older version of a kind. Logs still have messages of that version.
func lifted(path string) bool {
	words := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), target), ".json")
	kind, ok := events.ParseKind("io.rookery" + strings.ReplaceAll(words, "/", "."))
	return ok && events.Lifted(kind)
}

// generate returns the schemas of all messages, views, questions and answers, and their reference, by their paths. The working directory must be the module's
// root.
func generate() (map[string][]byte, error) {
	w := writer{files: map[string][]byte{}}
	enums := map[string][]any{}
	w.Reflector = jsonschema.Reflector{
		Anonymous:      true, // the ids come from the messages' types, and not from Go's
		ExpandedStruct: true,
		Mapper:         func(t reflect.Type) *jsonschema.Schema { return known(t, enums) },
		Namer:          name,
	}
	for _, folder := range sources {
		if err := w.AddGoComments(module, "./"+folder, jsonschema.WithFullComment()); err != nil {
			return nil, fmt.Errorf("read the comments: %w", err)
		}
		if err := constants(folder, enums); err != nil {
			return nil, err
		}
	}
	for name, text := range w.CommentMap {
		w.CommentMap[name] = strings.Join(strings.Fields(text), " ")
	}
	var err error
	for _, sample := range events.Samples() {
		err = errors.Join(err, w.write(sample.Kind(), sample))
	}
	for bucket, value := range views.Shapes() {
		err = errors.Join(err, w.write(schemas.View(bucket), value))
	}
	for name, shape := range api.Shapes() {
		err = errors.Join(err, w.write(schemas.Question(name), shape.Question), w.write(schemas.Answer(name), shape.Answers...))
	}
	if err := errors.Join(err, w.write(schemas.Refusal(), api.Refusal())); err != nil {
		return nil, err
	}
	w.files[reference], err = writeReference(w.files)
	return w.files, err
}

// writer writes schemas from the types and their comments.
type writer struct {
	jsonschema.Reflector
	files map[string][]byte
}

// write writes the schema of a value that has one of the types.
func (w *writer) write(kind events.Kind, values ...any) error {
	all := w.reflect(values[0])
	if len(values) > 1 {
		all = w.anyOf(values)
	}
	all.ID = jsonschema.ID(kind.Schema())
	all.Title = kind.Word()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	w.files[kind.SchemaPath()] = b.Bytes()
	return nil
}

// reflect returns the schema of the value's type, with definitions of the types that it contains. A recursive type is among the definitions.
func (w *writer) reflect(value any) *jsonschema.Schema {
	t := reflect.TypeOf(value)
	for i := range t.NumField() {
		if t.Field(i).Type == reflect.PointerTo(t) {
			apart := w.Reflector
			apart.ExpandedStruct = false
			s := apart.Reflect(value)
			s.Description = s.Definitions[name(t)].Description
			return s
		}
	}
	return w.Reflect(value)
}

// anyOf returns the schema of a value that has one of several types.
func (w *writer) anyOf(values []any) *jsonschema.Schema {
	all := &jsonschema.Schema{Version: jsonschema.Version, Definitions: jsonschema.Definitions{}}
	var what []string
	for _, value := range values {
		one := w.reflect(value)
		maps.Copy(all.Definitions, one.Definitions)
		what = append(what, one.Description)
		one.Version, one.Definitions = "", nil
		all.AnyOf = append(all.AnyOf, one)
	}
	all.Description = strings.Join(what, " Or: ")
	return all
}

// name returns the name of a type within a schema. Two packages may each have a type of the same name.
func name(t reflect.Type) string {
	if t.PkgPath() == module+"/events" || t.PkgPath() == "" {
		return t.Name()
	}
	return path.Base(t.PkgPath()) + "." + t.Name()
}

// known returns the schema of a type for which the reflector does not know the JSON, or describes too little of it; nil for other types.
func known(t reflect.Type, enums map[string][]any) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[jsontext.Value]():
		return &jsonschema.Schema{}
	case reflect.TypeFor[whatif.Moment]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "integer", Minimum: "1"}, {Type: "string"}}}
	case reflect.TypeFor[events.ServiceID](), reflect.TypeFor[events.GroupID]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[a-z0-9-]+/[a-z0-9-]+$`}
	case reflect.TypeFor[events.InstanceID]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[a-z0-9-]+/[a-z0-9-]+\.[0-9]+\.[0-9]+$`}
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
	if values := enums[t.PkgPath()+"."+t.Name()]; values != nil {
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

// constants finds the values of string constants in a folder and its subfolders, by the package and name of their type.
func constants(folder string, found map[string][]any) error {
	return filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range parsed.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.CONST {
				collect(group, module+"/"+filepath.ToSlash(filepath.Dir(file))+".", found)
			}
		}
		return nil
	})
}

func collect(group *ast.GenDecl, prefix string, found map[string][]any) {
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
					found[prefix+name.Name] = append(found[prefix+name.Name], text)
				}
			}
		}
	}
}
