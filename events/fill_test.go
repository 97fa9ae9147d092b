package events

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// filled returns a value of sample's type in which every field is set, so that nothing is left out when it is encoded.
func filled(sample Data) Data {
	v := reflect.New(reflect.TypeOf(sample)).Elem()
	fill(v)
	if q, ok := v.Interface().(CommandQueued); ok {
		q.Verb, q.Body = leastQueued.Verb, leastQueued.Body
		return q
	}
	return v.Interface().(Data)
}

func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(moment))
		return
	case jsontext.Value:
		v.Set(reflect.ValueOf(jsontext.Value(`{"field":7}`)))
		return
	case Phase:
		v.Set(reflect.ValueOf(PhaseOnline))
		return
	}
	switch v.Kind() { //nolint:exhaustive // the default says that a kind is missing
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic("a message has a field of kind " + v.Kind().String())
	}
}

// moment is a time that RFC 3339 writes without loss.
var moment = time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC)

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// wantRejection fails the test unless err is a rejection with this code and field whose reason has every part.
func wantRejection(t *testing.T, err error, code Code, field string, parts ...string) {
	t.Helper()
	var r *Rejection
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a rejection as %s", err, code)
	}
	if r.Code != code || r.Field != field {
		t.Errorf("rejected as %s of field %q (%s), want %s of %q", r.Code, r.Field, r.Reason, code, field)
	}
	for _, part := range parts {
		if !strings.Contains(r.Reason, part) {
			t.Errorf("the reason %q does not say %q", r.Reason, part)
		}
	}
	checkRejection(t, r)
}

// checkRejection fails the test unless the rejection can be shown to anyone and written into the log.
func checkRejection(t *testing.T, r *Rejection) {
	t.Helper()
	if r.Code == "" || r.Reason == "" {
		t.Errorf("a rejection without code or reason: %+v", r)
	}
	for _, text := range []string{string(r.Code), r.Field, r.Reason} {
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("a rejection with text that is not printable: %q", text)
		}
	}
	if _, err := Encode("x", CommandRejected{Rejection: *r}, Attributes{Time: moment}); err != nil {
		t.Errorf("the rejection cannot be written: %v", err)
	}
}
