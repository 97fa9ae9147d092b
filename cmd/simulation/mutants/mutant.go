package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// mutant is the house with one bug planted.
type mutant struct {
	name string
	// what says in one line what is planted.
	what  string
	edits []edit
}

// edit replaces one text of a file, which must stand there exactly once.
type edit struct{ file, old, now string }

// all returns every mutant.
func all() []mutant {
	return slices.Concat(
		writing, reading, deciding, differing, placing, moving, queueing, operating, rescaling, snapshotting, suspending, losing, crashing,
		grouping, leaving, guarding, working, ordering, seeing, obeying, found,
	)
}

// flags are what the simulation of the mutant is told beside how many seeds it has: only runs that differ from each
// other have to be run twice.
func (m mutant) flags() []string {
	if slices.ContainsFunc(differing, func(d mutant) bool { return d.name == m.name }) {
		return []string{"-twice"}
	}
	return nil
}

// hasPlan reports whether a plan is kept that the mutant's bug has broken.
func (m mutant) hasPlan() bool {
	return slices.ContainsFunc(found, func(f mutant) bool { return f.name == m.name })
}

// plant writes the files that the mutant changes into dir, as they are with the bug, and the overlay that has the
// compiler read them in place of the house's. It returns the overlay's name.
func (m mutant) plant(root, dir string) (string, error) {
	changed := map[string]string{}
	for _, e := range m.edits {
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
			return "", fmt.Errorf("%s: %s has %d times what is to be replaced, and must have it once:\n%s", m.name, e.file, n, e.old)
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
