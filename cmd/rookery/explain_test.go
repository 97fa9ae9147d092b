package main

import (
	"strings"
	"testing"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/placement"
)

func TestExplainNamesTheFlagOfTheNode(t *testing.T) {
	var out strings.Builder
	err := printExplanation(&out, coordinator.Explanation{Service: "demo/web", Nodes: []placement.Verdict{
		{Node: "a", Removed: "allow_host_port"}, {Node: "b", Removed: "allow_engine_context"}, {Node: "c", Removed: "zone"},
	}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"demo/web/1 waits behind slot 0:\ndemo/web/0 waits",
		"removed by allow_host_port (rookery node --allow-host-port)", "removed by allow_engine_context (rookery node --allow-engine-context)", "removed by zone",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

// TestPortsThatAreNone reads ranges of ports with every kind of mistake.
func TestPortsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "http", "0", "65536", "9000-8000", "80-", "-80", "80-90-100", "80/tcp"} {
		if got, err := parseRange("--allow-host-port", text, "443 or 8000-8999"); err == nil || !strings.Contains(err.Error(), "--allow-host-port") || !strings.Contains(err.Error(), "443 or 8000-8999") {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}
