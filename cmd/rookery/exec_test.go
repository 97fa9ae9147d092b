package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/projections/views"
)

// TestACommandThatDidNotRunIsExplained covers exit codes that Podman does not explain, and the same codes from commands that wrote
// output.
func TestACommandThatDidNotRunIsExplained(t *testing.T) {
	i := views.Instance{Namespace: "demo", Name: "web", Generation: 1, Node: "edge"}
	for _, row := range []struct {
		code  int32
		wrote bool
		says  string // of standard error; "" for nothing
	}{
		{7, false, ""},
		{127, true, ""},
		{126, true, ""},
		{127, false, `run "sh" in demo/web.0.1 on edge: the container does not have this command (exit code 127)`},
		{126, false, "the container cannot run it"},
	} {
		x := execution{command: []string{"sh", "-c", "x"}, wrote: row.wrote}
		err := x.outcome(i, row.code)
		var coded *codedError
		var ended *endedError
		switch {
		case row.says == "" && (!errors.As(err, &ended) || ended.code != row.code):
			t.Errorf("%d, wrote %t: %v", row.code, row.wrote, err)
		case row.says != "" && (!errors.As(err, &coded) || coded.code != int(row.code) || !strings.Contains(err.Error(), row.says)):
			t.Errorf("%d, wrote %t: %v", row.code, row.wrote, err)
		}
	}
	if err := (&execution{}).outcome(i, 0); err != nil {
		t.Errorf("0 gave %v", err)
	}
}
