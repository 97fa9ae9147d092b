package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
)

// bug is a real bug that was found and fixed. Its edits put it back.
type bug struct {
	name string
	// what describes the bug in one line.
	what  string
	edits []edit
}

// edit replaces one text of a file, which must stand there exactly once.
type edit struct{ file, old, now string }

// plant writes the files with the bug into dir, and an overlay that makes the compiler read them in place of the originals. It returns the
// overlay's name.
func (b bug) plant(root, dir string) (string, error) {
	changed := map[string]string{}
	for _, e := range b.edits {
		path := filepath.Join(root, e.file)
		text, known := changed[path]
		if !known {
			source, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text = string(source)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return "", fmt.Errorf("%s: %s holds the text to replace %d times, want once:\n%s", b.name, e.file, n, e.old)
		}
		changed[path] = strings.Replace(text, e.old, e.now, 1)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, text := range changed {
		file := filepath.Join(dir, fmt.Sprintf("%d-%s", len(overlay.Replace), filepath.Base(path)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		overlay.Replace[path] = file
	}
	text, err := json.Marshal(overlay, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o600)
}
