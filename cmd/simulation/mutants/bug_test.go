package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

const root = "../../.."

func TestFoundBugsFitTheSource(t *testing.T) {
	known := map[string]bool{}
	for _, b := range found {
		if known[b.name] || b.name == "" || b.what == "" || len(b.edits) == 0 {
			t.Errorf("%q has the name of another bug, no description or no edits", b.name)
		}
		known[b.name] = true
		if _, err := b.plant(root, t.TempDir()); err != nil {
			t.Error(err)
		}
	}
}

// TestEveryKeptPlanHasItsBug checks that each kept plan and each test has its bug in the list, and each bug a plan or a test.
func TestEveryKeptPlanHasItsBug(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, keptFolder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	kept := slices.Collect(maps.Keys(besidePlans))
	for _, file := range files {
		kept = append(kept, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	var planted []string
	for _, b := range found {
		planted = append(planted, b.name)
	}
	slices.Sort(kept)
	slices.Sort(planted)
	if kept = slices.Compact(kept); !slices.Equal(kept, planted) {
		t.Errorf("the kept plans and the tests are of %q, and the found bugs are %q", kept, planted)
	}
}

func TestPlantReplacesWhatItSays(t *testing.T) {
	dir := t.TempDir()
	b := bug{"a", "b", []edit{
		{"cmd/simulation/mutants/bug_test.go", "const " + "root = ", "const planted = "},
		{"cmd/simulation/mutants/bug_test.go", "package " + "main\n", "package other\n"},
	}}
	name, err := b.plant(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil || len(overlay.Replace) != 1 {
		t.Fatalf("%s: %v", text, err)
	}
	file := slices.Collect(maps.Values(overlay.Replace))[0]
	changed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(changed), "const planted = \"") || !strings.HasPrefix(string(changed), "package other\n") {
		t.Errorf("not replaced:\n%s", changed)
	}
	b.edits[0].old = "t.Fatal"
	if _, err := b.plant(root, dir); err == nil {
		t.Error("plant replaced a text that the file holds more than once")
	}
}
