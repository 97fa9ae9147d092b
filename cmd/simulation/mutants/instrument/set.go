// Package instrument makes copies of packages that carry many mutants at once. A mutant is a small bug made by a rule. A program behaves as
// the original, or with the one mutant that its environment names (package planted). The rules build on syntax and types, and quote no
// source.
//
// The rules leave some places out: the order of the arguments of min, max and Equal, which makes no difference; the arguments of make,
// which are hints; panics; and the order of the values in a message.
package instrument

import (
	"context"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/simulation/mutants/planted"
)

// Operator is the rule by which a mutant is made.
type Operator string

// The operators.
const (
	Negate   Operator = "negate"   // a condition, or one of those that && and || join, is its opposite
	Boundary Operator = "boundary" // < is <=, > is >= and the reverse; so are Before and After of times
	Call     Operator = "call"     // a call whose results nothing uses is dropped
	Assign   Operator = "assign"   // an assignment to what exists is dropped
	Swap     Operator = "swap"     // two arguments of one type change places
	Case     Operator = "case"     // a case of a switch is deleted
	Return   Operator = "return"   // a function returns at once, with zero values
)

// Mutant is one bug.
type Mutant struct {
	// Number is what planted.Variable takes. It holds for one set alone.
	Number uint16 `json:"-"`
	// ID names the mutant as long as its function has the same places for its operator: package.Function/operator/ordinal.
	ID       string   `json:"id"`
	Package  string   `json:"package"`
	Function string   `json:"function"`
	Operator Operator `json:"operator"`
	Position string   `json:"position"` // file:line, from the root of the module
}

// Set holds all mutants of some packages.
type Set struct {
	Mutants []Mutant
	// Skipped counts places that no operator can instrument, by reason.
	Skipped map[string]int

	root   string
	copies map[string]string // of files, by their path
}

// Packages finds all mutants of the packages, which are paths below root, the folder of the module.
func Packages(ctx context.Context, root string, packages ...string) (*Set, error) {
	s := &Set{Skipped: map[string]int{}, root: root, copies: map[string]string{}}
	all, err := list(ctx, root, packages)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	for _, p := range all {
		if p.DepOnly {
			continue
		}
		c, err := check(p, exports)
		if err != nil {
			return nil, err
		}
		if err := s.add(c); err != nil {
			return nil, err
		}
	}
	if len(s.Mutants) >= planted.Most {
		return nil, fmt.Errorf("%d mutants do not fit into one program, which has room for %d", len(s.Mutants), planted.Most-1)
	}
	return s, nil
}

func (s *Set) add(c checked) error {
	ordinals := map[string]int{}
	for _, f := range c.files {
		path := c.fset.File(f.Pos()).Name()
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.root, path)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			continue
		}
		w := &walker{
			set: s, checked: c, source: source, name: filepath.ToSlash(name), pkg: filepath.ToSlash(filepath.Dir(name)),
			base: c.fset.File(f.Pos()).Base(), ordinals: ordinals, conditions: map[ast.Expr]bool{},
		}
		w.file(f)
		if len(w.splices) > 0 {
			w.insert(f.Name, "", fmt.Sprintf("; import %s %q", alias, plantedPath))
			s.copies[path] = spliced(source, w.splices)
		}
	}
	return nil
}

// Overlay writes the copies into dir, and the file for go build -overlay that puts them in the place of the originals. It
// returns the name of that file.
func (s *Set) Overlay(dir string) (string, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for i, path := range slices.Sorted(maps.Keys(s.copies)) {
		file := filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(path)))
		if err := os.WriteFile(file, []byte(s.copies[path]), 0o600); err != nil {
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
