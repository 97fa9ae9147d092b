package main

import (
	"strings"
	"testing"
)

func TestOnlyCaughtMutantsAndAHouseThatKeepsItsPromisesProve(t *testing.T) {
	kept := verdict{Name: clean.name, Seeds: 20}
	caught := verdict{Name: "a", What: "one", Promise: "P4", Seeds: 3, Seconds: 1.4}
	missed := verdict{Name: "b", What: "two", Seeds: 300}
	broken := verdict{Name: clean.name, Promise: "P1", Seeds: 2}
	for _, row := range []struct {
		verdicts []verdict
		proved   bool
		last     string
	}{
		{[]verdict{kept, caught}, true, "mutants 1, caught 1"},
		{[]verdict{kept, caught, missed}, false, "mutants 2, caught 1"},
		{[]verdict{broken, caught}, false, "mutants 1, caught 1"},
	} {
		if got := proved(row.verdicts); got != row.proved {
			t.Errorf("%v: proved %t", row.verdicts, got)
		}
		var text strings.Builder
		if err := show(&text, row.verdicts, false); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(text.String(), row.last+"\n") {
			t.Errorf("the table does not end with %q:\n%s", row.last, text.String())
		}
	}
}

func TestPanicOf(t *testing.T) {
	for said, want := range map[string]string{
		"":                                    "",
		"seed 3\nno panic here\n":             "",
		"a\npanic: boom\n\ngoroutine 1":       "panic: boom",
		"fatal error: all goroutines asleep!": "fatal error: all goroutines asleep!",
	} {
		if got := panicOf(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
