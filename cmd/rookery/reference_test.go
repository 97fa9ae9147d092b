package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var writeReference = flag.Bool("write-reference", false, "write README.md, the reference of the command line")

const referenceHead = `# The rookery command line

The help of every command, as ` + "`rookery COMMAND --help`" + ` prints it. This file is generated: ` + "`make reference`" + `.

`

// withoutVariables takes from the test what gives flags their values on this machine.
func withoutVariables(t *testing.T) {
	t.Helper()
	for _, variable := range []string{"NATS_URL", "NATS_CREDS", "NATS_CONTEXT", "CONTAINER_HOST", "XDG_STATE_HOME"} {
		t.Setenv(variable, "")
	}
	t.Setenv("HOME", "/root")
}

// TestReferenceIsFresh compares README.md with the help of every command.
func TestReferenceIsFresh(t *testing.T) {
	withoutVariables(t)
	t.Setenv("XDG_STATE_HOME", "/var/lib")
	all := commandTree()
	all["rookery"] = root(&link{}) // it lists all commands
	var text strings.Builder
	text.WriteString(referenceHead)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		c := all[path]
		var help bytes.Buffer
		c.SetOut(&help)
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "## %s\n\n```text\n%s\n```\n\n", path, strings.TrimRight(help.String(), "\n"))
	}
	want := strings.TrimRight(text.String(), "\n") + "\n"
	if *writeReference {
		if err := os.WriteFile("README.md", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, err := os.ReadFile("README.md"); err != nil || string(got) != want {
		t.Errorf("README.md is stale: run make reference (%v)", err)
	}
}
