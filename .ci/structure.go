//go:build ignore

// Command structure measures how the product is built: its code lines, how long its functions are, how many of them the two largest types have,
// and in how many places the coordinator and the state ask what kind of service they deal with. Run it with `make structure`.
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// product are the folders that make up what operators run.
var product = []string{"events", "projections", "coordinator", "node", "schemas", "cmd/rookery"}

// moded are the packages in which tests of a service's mode count.
var moded = []string{"coordinator", "projections"}

// The tests of a mode: whether the service is dropped, and whether it has one of the others; and the calls that say so of its spec or operation.
var (
	isMode   = []string{"Dropped"}
	hasMode  = []string{"Job", "Suspension", "Topology"}
	modeCall = []string{"Global", "IsJob", "Together"}
)

// file is one source file that is neither a test nor generated.
type file struct {
	path, folder string
	lines        []bool // by line, whether there is code
	syntax       *ast.File
	set          *token.FileSet
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("structure: ")
	var files []*file
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := read(path)
		if err == nil && !ast.IsGenerated(f.syntax) {
			files = append(files, f)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	report(files)
}

func read(path string) (*file, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, folder: filepath.ToSlash(filepath.Dir(path)), set: token.NewFileSet(), lines: make([]bool, strings.Count(string(source), "\n")+2)}
	if f.syntax, err = parser.ParseFile(f.set, path, source, parser.ParseComments); err != nil {
		return nil, err
	}
	var s scanner.Scanner
	set := token.NewFileSet()
	s.Init(set.AddFile(path, -1, len(source)), source, nil, 0)
	for {
		at, tok, text := s.Scan()
		if tok == token.EOF {
			return f, nil
		}
		if tok == token.SEMICOLON && text == "\n" {
			continue
		}
		first := set.Position(at).Line
		for line := first; line <= first+strings.Count(text, "\n"); line++ { // texts in backquotes have more than one
			f.lines[line] = true
		}
	}
}

// code counts the lines with code from one place to another.
func (f *file) code(from, to token.Pos) (count int) {
	for line := f.set.Position(from).Line; line <= f.set.Position(to).Line; line++ {
		if f.lines[line] {
			count++
		}
	}
	return count
}

func within(folder string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return folder == root || strings.HasPrefix(folder, root+"/") })
}

// function is one that has a body.
type function struct {
	name, place string
	lines       int
	decl        *ast.FuncDecl
}

func report(files []*file) {
	all, sizes, methods := 0, map[string]int{}, map[string]int{}
	var functions []function
	var modes []*file
	for _, f := range files {
		lines := f.code(f.syntax.FileStart, f.syntax.FileEnd)
		all += lines
		if !within(f.folder, product) {
			continue
		}
		sizes[strings.Join(strings.SplitN(f.folder, "/", 3)[:min(2, strings.Count(f.folder, "/")+1)], "/")] += lines
		if within(f.folder, moded) {
			modes = append(modes, f)
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				functions = append(functions, function{fn.Name.Name, f.set.Position(fn.Pos()).String(), f.code(fn.Pos(), fn.End()), fn})
				methods[first(fn)]++
			}
		}
	}
	product := 0
	for _, folder := range slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return cmp.Compare(sizes[b], sizes[a]) }) {
		fmt.Printf("%-28s %6d lines\n", folder, sizes[folder])
		product += sizes[folder]
	}
	slices.SortFunc(functions, func(a, b function) int { return cmp.Or(cmp.Compare(a.lines, b.lines), cmp.Compare(a.place, b.place)) })
	fmt.Println("\nThe longest functions:")
	for _, f := range functions[len(functions)-5:] {
		fmt.Printf("%-28s %6d lines  %s\n", f.name, f.lines, f.place)
	}
	tests := modeTests(modes, functions)
	fmt.Println("\nTests of a service's mode:")
	total := 0
	for _, name := range slices.SortedFunc(maps.Keys(tests), func(a, b string) int { return cmp.Or(cmp.Compare(tests[b], tests[a]), cmp.Compare(a, b)) }) {
		fmt.Printf("%-28s %6d\n", name, tests[name])
		total += tests[name]
	}
	at := func(share float64) int { return functions[int(share*float64(len(functions)-1))].lines }
	fmt.Printf("\nlines %d, product %d, functions median %d p95 %d max %d, methods Turn %d Service %d, mode tests %d\n",
		all, product, at(.5), at(.95), at(1), methods["Turn"], methods["Service"], total)
}

// first returns the type of the function's receiver, or else of its first parameter, without the package; "" for none of these.
func first(fn *ast.FuncDecl) string {
	fields := fn.Type.Params
	if fn.Recv != nil {
		fields = fn.Recv
	}
	if fields == nil || len(fields.List) == 0 {
		return ""
	}
	star, ok := fields.List[0].Type.(*ast.StarExpr)
	if !ok {
		return ""
	}
	switch of := star.X.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	}
	return ""
}

// modeTests counts, by what is asked, where the files ask for a service's mode: also by functions that only return the answer.
func modeTests(files []*file, functions []function) map[string]int {
	calls := slices.Clone(modeCall)
	for grown := true; grown; {
		grown = false
		for _, f := range functions {
			if of := first(f.decl); (of == "Service" || of == "Operation" || of == "Spec") && !slices.Contains(calls, f.name) && wraps(f.decl, calls) {
				calls, grown = append(calls, f.name), true
			}
		}
	}
	counts := map[string]int{}
	for _, f := range files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if asked := asks(n, calls); asked != "" {
				counts[asked]++
			}
			return true
		})
	}
	return counts
}

// wraps reports whether all that the function does is to return what it asks for.
func wraps(fn *ast.FuncDecl, calls []string) bool {
	if len(fn.Body.List) != 1 {
		return false
	}
	returned, ok := fn.Body.List[0].(*ast.ReturnStmt)
	found := false
	if ok {
		ast.Inspect(returned, func(n ast.Node) bool {
			found = found || asks(n, calls) != ""
			return !found
		})
	}
	return found && fn.Type.Results != nil && len(fn.Type.Results.List) == 1 && isBool(fn.Type.Results.List[0].Type)
}

func isBool(t ast.Expr) bool {
	ident, ok := t.(*ast.Ident)
	return ok && ident.Name == "bool"
}

// asks returns what the node asks of a service's mode; "" for nothing.
func asks(n ast.Node, calls []string) string {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if slices.Contains(isMode, n.Sel.Name) {
			return n.Sel.Name
		}
	case *ast.CallExpr:
		if name := called(n); slices.Contains(calls, name) {
			return name
		}
	case *ast.BinaryExpr:
		field, ok := n.X.(*ast.SelectorExpr)
		nothing, isNil := n.Y.(*ast.Ident)
		if ok && isNil && nothing.Name == "nil" && (n.Op == token.EQL || n.Op == token.NEQ) && slices.Contains(hasMode, field.Sel.Name) {
			return field.Sel.Name
		}
	}
	return ""
}

func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}
