// Package strike makes a coordinator panic in a unit of work, from outside. Only a copy of package coordinator that Overlay has changed
// imports it.
package strike

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// Variable names the environment variable that holds a file's name. The file lists the units to panic in, one a line, without their
// sequence.
const Variable = "ROOKERY_STRIKES"

// Compiled reports whether the program has a coordinator that Overlay has changed.
func Compiled() bool { return compiled }

var compiled bool

var strikes atomic.Pointer[func(events.Unit) bool]

// Set makes the coordinators of this process panic in the units for which panics returns true, instead of in those of the file.
func Set(panics func(events.Unit) bool) { strikes.Store(&panics) }

func listed(u events.Unit) bool {
	text, _ := os.ReadFile(os.Getenv(Variable)) // without a file no unit panics
	u.Sequence = 0
	return slices.Contains(strings.Split(string(text), "\n"), u.String())
}

// At panics if the unit is one to panic in.
func At(u events.Unit) {
	is := listed
	if set := strikes.Load(); set != nil {
		is = *set
	}
	if is(u) {
		panic("struck")
	}
}

// Overlay writes into dir, for the compiler, a coordinator that calls At when it begins a unit. Root is the folder of the module. It returns
// the name of the overlay.
func Overlay(root, dir string) (string, error) {
	original, err := filepath.Abs(filepath.Join(root, "coordinator", "unit.go"))
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	text := string(source)
	for place, more := range map[string]string{
		"\tif t.leavesAlone(u) {\n\t\treturn false\n\t}\n": "\tstrike.At(u)\n",
		"import (\n": "\t\"github.com/rookery-project/rookery/cmd/simulation/strike\"\n",
	} {
		if strings.Count(text, place) != 1 {
			return "", fmt.Errorf("%s: want %q once", original, place)
		}
		text = strings.Replace(text, place, place+more, 1)
	}
	changed, added, overlay := filepath.Join(dir, "unit.go"), filepath.Join(dir, "compiled.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {
		original: changed, filepath.Join(filepath.Dir(original), "../cmd/simulation/strike/compiled.go"): added,
	}})
	if err != nil {
		return "", err
	}
	for path, content := range map[string]string{
		changed: text, added: "package strike\n\nfunc init() { compiled = true }\n", overlay: string(replace),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return overlay, nil
}
