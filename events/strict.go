package events

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits on JSON that comes from outside. The size of a message is bounded by its stream.
const (
	MaxDepth  = 16     // nested objects and arrays
	MaxTokens = 20_000 // names and values of one message
)

// decodeStrict reads one JSON object into the struct that into points to. It takes no unknown field, no key twice, no
// invalid UTF-8 and nothing behind the object. Its errors are *Rejection and name the field with its path.
func decodeStrict(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Reject(CodeEmpty, "", "the body is empty: send a JSON object, {} where no field is needed")
	}
	if !utf8.Valid(body) {
		return Reject(CodeMalformed, "", "the body is not UTF-8 text: send a JSON object")
	}
	if err := checkShape(body); err != nil {
		return err
	}
	if err := checkNoNull(body); err != nil {
		return err
	}
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	return explainDecode(err, reflect.TypeOf(into).Elem())
}

// checkShape walks the tokens once and refuses a body that is not a single JSON object, or is too deep or too long.
func checkShape(body []byte) error {
	if first := bytes.TrimLeft(body, " \t\r\n"); first[0] != '{' {
		return Reject(CodeMalformed, "", "the body is not a JSON object: it begins with %s", quote(string(first[:1])))
	}
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for range MaxTokens {
		if _, err := d.ReadToken(); err != nil {
			return explainSyntax(err)
		}
		if d.StackDepth() > MaxDepth {
			return Reject(CodeTooDeep, fieldPath(d.StackPointer()), "the body is nested deeper than %d levels", MaxDepth)
		}
		if d.StackDepth() == 0 {
			return checkEnd(body, d.InputOffset())
		}
	}
	return Reject(CodeOutOfRange, "", "the body holds more than %d names and values", MaxTokens)
}

// checkEnd refuses what stands behind the object.
func checkEnd(body []byte, end int64) error {
	rest := bytes.TrimLeft(body[end:], " \t\r\n")
	if len(rest) == 0 {
		return nil
	}
	return Reject(CodeMalformed, "", "the body continues after its JSON object: at byte %d is %s", len(body)-len(rest), quote(string(rest)))
}

// checkNoNull refuses null wherever it stands. Decoding would take it for a missing field, and in a list for an empty entry: an argument
// that the sender did not ask for.
func checkNoNull(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return explainSyntax(err)
		}
		if token.Kind() == jsontext.KindNull {
			field := fieldPath(d.StackPointer())
			return Reject(CodeWrongType, field, "%s must not be null: leave the field out instead", field)
		}
	}
}

func explainSyntax(err error) error {
	var syntactic *jsontext.SyntacticError
	if !errors.As(err, &syntactic) {
		return Reject(CodeMalformed, "", "the body is not JSON: %v", err)
	}
	field := fieldPath(syntactic.JSONPointer)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return Reject(CodeDuplicateKey, field, "the key %s appears twice in one object", quote(field))
	}
	return Reject(CodeMalformed, field, "the body is not JSON: at byte %d: %v", syntactic.ByteOffset, syntactic.Err)
}

func explainDecode(err error, target reflect.Type) error {
	var rejection *Rejection
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return explainSyntax(err)
	}
	field := fieldPath(semantic.JSONPointer)
	switch {
	case errors.As(err, &rejection):
		return &Rejection{Code: rejection.Code, Field: field, Reason: field + ": " + rejection.Reason}
	case errors.Is(err, json.ErrUnknownName):
		return explainUnknown(semantic.JSONPointer, target)
	case errors.Is(err, strconv.ErrRange) && isInteger(semantic.GoType):
		return Reject(CodeOutOfRange, field, "%s is beyond %d, the largest that it may be", field, largest(semantic.GoType))
	case errors.Is(err, strconv.ErrRange):
		return Reject(CodeOutOfRange, field, "%s is beyond what %s takes", field, typeName(semantic.GoType))
	case semantic.JSONKind == jsontext.KindNumber && isText(semantic.GoType):
		return Reject(CodeWrongType, field, "%s must be a string, not a number: write it in quotes", field)
	case semantic.JSONKind == jsontext.KindNumber && isInteger(semantic.GoType) && !isText(semantic.GoType):
		return Reject(CodeOutOfRange, field, "%s must be a whole number that is not negative", field)
	}
	return Reject(CodeWrongType, field, "%s must be %s, not %s", field, typeName(semantic.GoType), kindName(semantic.JSONKind))
}

// otherNames are the names that other tools have for a field.
var otherNames = map[string]string{
	"replicas": "scale", "environment": "env", "hostPort": "host_port", "host": "host_port", "containerPort": "port", "nodeSelector": "node_selector",
}

func explainUnknown(pointer jsontext.Pointer, target reflect.Type) error {
	known := namesAt(target, pointer.Parent())
	field, name := fieldPath(pointer), pointer.LastToken()
	near := nearest(name, known)
	if other := otherNames[name]; slices.Contains(known, other) {
		near = other
	}
	if near != "" {
		return Reject(CodeUnknownField, field, "there is no field %s: did you mean %q?", quote(name), near)
	}
	return Reject(CodeUnknownField, field, "there is no field %s: known are %s", quote(name), strings.Join(known, ", "))
}

// fieldPath writes a JSON pointer as operators write a path: ports[0].name. Text from outside is made printable.
func fieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		shown := quote(token)
		b.WriteString(shown[1:strings.LastIndexByte(shown, '"')])
	}
	const most = 200
	return b.String()[:min(b.Len(), most)]
}

// namesAt lists the JSON names of the struct that the pointer leads to within t.
func namesAt(t reflect.Type, p jsontext.Pointer) []string {
	for token := range p.Tokens() {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch t.Kind() { //nolint:exhaustive // only these kinds hold other values
		case reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			t = memberType(t, token)
		}
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return memberNames(t)
}

func memberNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			names = append(names, memberNames(f.Type)...)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func memberType(t reflect.Type, name string) reflect.Type {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			if found := memberType(f.Type, name); found != f.Type {
				return found
			}
			continue
		}
		if got, _, _ := strings.Cut(f.Tag.Get("json"), ","); got == name {
			return f.Type
		}
	}
	return t
}

// MostNear is among how many names the nearest is looked for.
const MostNear = 1000

// NoSuch says that there is nothing of this kind and name, with the nearest of the names that are known, or the first of them; without these
// where more than MostNear are known.
func NoSuch(kind, name string, known []string) string {
	text := "there is no " + kind + " " + name
	switch {
	case len(known) == 0:
		return text + ", nor any other " + kind
	case len(known) > MostNear:
		return text
	}
	known = slices.Sorted(slices.Values(known))
	if near := nearest(name, known); near != "" {
		return text + ": did you mean " + near + "?"
	}
	const most = 5
	text += ": there are " + strings.Join(known[:min(len(known), most)], ", ")
	if len(known) > most {
		text += fmt.Sprintf(" and %d more", len(known)-most)
	}
	return text
}

// nearest returns the known name that is at most a third of its length away from name, and has something of it, or "".
func nearest(name string, known []string) string {
	best, least := "", min(len(name)/3+2, len(name))
	if len(name) > maxNear {
		return best
	}
	name = strings.ToLower(name)
	for _, k := range known {
		if d := editDistance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// maxNear bounds the names that are compared: a namespace and a name are the longest.
const maxNear = 2*MaxName + 1

// editDistance is Levenshtein's: the insertions, deletions and substitutions of bytes that lead from a to b.
func editDistance(a, b string) int {
	if len(a) > maxNear || len(b) > maxNear {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// isText reports whether the type is written as a string in JSON, whatever it is in Go: a Duration is.
func isText(t reflect.Type) bool {
	return t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func isInteger(t reflect.Type) bool {
	return t != nil && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}

// largest returns the largest number that an integer type holds.
func largest(t reflect.Type) uint64 {
	bits := t.Bits()
	if t.Kind() <= reflect.Int64 {
		bits--
	}
	return 1<<bits - 1
}

func typeName(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	if isText(t) {
		return "a string"
	}
	switch t.Kind() { //nolint:exhaustive // the rest is said in one word
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return typeName(t.Elem())
	}
	if isInteger(t) {
		return "a whole number"
	}
	return "a number"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "true or false"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "a list"
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
	}
	return "something else"
}
