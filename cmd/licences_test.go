package cmd_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// licences are those that a dependency may have: none asks for more than its text, or for the source of what was changed in it.
var licences = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// TestEachDependencyHasALicenceOfTheList compares the modules that rookery is built from with deploy/licences.md.
func TestEachDependencyHasALicenceOfTheList(t *testing.T) {
	text, err := os.ReadFile("../deploy/licences.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 || !strings.ContainsAny(cells[1], "./") {
			continue
		}
		name, licence := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		listed[name] = true
		if !slices.Contains(licences, licence) {
			t.Errorf("%s has the licence %s: known are %s", name, licence, strings.Join(licences, ", "))
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", house+"/cmd/rookery").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
	unused := maps.Clone(listed)
	for _, module := range modules {
		found := module == house
		for name := range listed {
			if name == module || strings.HasPrefix(name, module+"/") {
				found = true
				delete(unused, name)
			}
		}
		if !found {
			t.Errorf("deploy/licences.md has no licence of %s: run make licences", module)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("deploy/licences.md has %s, which rookery is not built from: run make licences", name)
	}
	const least = 50
	if len(modules) < least {
		t.Errorf("go list returned %d modules: the test would prove nothing", len(modules))
	}
}
