package main

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestDifferencesNameEachFieldOnce(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`{"a":1}`, `{"a":1}`, ``},
		{`{"a":1}`, `{"a":2}`, `a: 1 → 2`},
		{`{"a":""}`, `{}`, `a: "" → none`},
		{`{}`, `{"a":""}`, `a: ""`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":3}}`, `a.c: 2 → 3`},
		{`{"a":{"b":1}}`, `{"a":[1]}`, `a: {"b":1} → [1]`},
		{`{"a":[1,2,3]}`, `{"a":[1,4]}`, `a[1]: 2 → 4; a[2]: 3 → none`},
		{`{"a":[{"b":1}]}`, `{"a":[{"b":2},{"b":3}]}`, `a[0].b: 1 → 2; a[1]: {"b":3}`},
		{`{"b":1,"a":1}`, `{"b":2,"a":2}`, `a: 1 → 2; b: 1 → 2`},
		{`{"e":{"a\nb":"1"}}`, `{"e":{"a\nb":"\u001b[0m"}}`, `e.a\nb: "1" → "\u001b[0m"`},
	} {
		all, err := differences(jsontext.Value(c.before), jsontext.Value(c.after))
		if err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(all))
		for i, d := range all {
			texts[i] = d.String()
		}
		if got := strings.Join(texts, "; "); got != c.want {
			t.Errorf("%s and %s: %s, want %s", c.before, c.after, got, c.want)
		}
	}
}
