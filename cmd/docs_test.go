package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksInDocumentsResolve follows every link between files of the repository, and to headings in them.
func TestLinksInDocumentsResolve(t *testing.T) {
	t.Chdir("..")
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Fields(string(out))
	if len(documents) < 10 {
		t.Fatalf("there are %d documents", len(documents))
	}
	for _, document := range documents {
		text := read(t, document)
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := document
			if target != "" {
				path = filepath.Join(filepath.Dir(document), target)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s: %v", document, found[1], err)
				continue
			}
			if anchor != "" && !slices.Contains(anchors(read(t, path)), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", document, found[1])
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// anchors are the headings of a document, as links name them.
func anchors(text string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return all
}
