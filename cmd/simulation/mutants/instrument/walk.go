package instrument

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// alias is the name of package planted in the copies. No other identifier has that name.
const (
	alias       = "planted__"
	plantedPath = "github.com/rookery-project/rookery/cmd/simulation/mutants/planted"
)

// walker finds the mutants of one file.
type walker struct {
	checked
	set    *Set
	source []byte
	base   int    // position of the file's first byte
	name   string // of the file
	pkg    string // folder of the package

	function   string
	ordinals   map[string]int
	conditions map[ast.Expr]bool // that were negated
	splices    []splice
}

func (w *walker) offset(p token.Pos) int { return int(p) - w.base }

func (w *walker) text(n ast.Node) string {
	return string(w.source[w.offset(n.Pos()):w.offset(n.End())])
}

func (w *walker) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body == nil || d.Name.Name == "init" {
				continue
			}
			w.function = functionName(d)
			w.early(d)
			w.walk(d.Body)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					w.function = v.Names[0].Name
					w.literals(v)
				}
			}
		}
	}
}

// literals walks the functions in the value of a variable of the package.
func (w *walker) literals(v *ast.ValueSpec) {
	ast.Inspect(v, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncLit); ok {
			w.walk(f.Body)
			return false
		}
		return true
	})
}

// functionName returns the name of a function, with the type of its receiver.
func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		default:
			return fmt.Sprintf("%s.%s", t, d.Name.Name)
		}
	}
}

// plant adds a mutant at the node, and returns its number.
func (w *walker) plant(op Operator, at ast.Node) uint16 {
	key := fmt.Sprintf("%s.%s/%s", w.pkg, w.function, op)
	w.ordinals[key]++
	m := Mutant{
		Number: uint16(len(w.set.Mutants) + 1), ID: fmt.Sprintf("%s/%d", key, w.ordinals[key]), Package: w.pkg, Function: w.function, Operator: op,
		Position: fmt.Sprintf("%s:%d", w.name, w.fset.Position(at.Pos()).Line),
	}
	w.set.Mutants = append(w.set.Mutants, m)
	return m.Number
}

// on is the question whether a mutant is planted.
func on(m uint16) string { return fmt.Sprintf("%s.On(%d)", alias, m) }

func (w *walker) skip(reason string) { w.set.Skipped[reason]++ }

// walk finds the mutants within a body, outer ones first.
func (w *walker) walk(body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			w.statements(n.List)
		case *ast.CaseClause:
			w.statements(n.Body)
		case *ast.CommClause:
			w.statements(n.Body)
		case *ast.IfStmt:
			w.condition(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				w.condition(n.Cond)
			}
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				w.condition(r)
			}
		case *ast.SwitchStmt:
			w.cases(n)
		case *ast.TypeSwitchStmt:
			w.types(n)
		case *ast.BinaryExpr:
			w.binary(n)
		case *ast.CallExpr:
			if b := w.builtin(n); b == "make" || b == "panic" {
				return false
			}
			w.times(n)
			w.swap(n)
		}
		return true
	})
}

// constant reports whether the compiler knows the value.
func (w *walker) constant(e ast.Expr) bool { return w.info.Types[e].Value != nil }

// condition negates each of the conditions that && and || join. It skips values that are not boolean.
func (w *walker) condition(e ast.Expr) {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) {
		w.condition(b.X)
		w.condition(b.Y)
		return
	}
	t := w.info.Types[e].Type
	if t == nil || w.conditions[e] || w.constant(e) || !types.Identical(types.Default(t), types.Typ[types.Bool]) {
		return
	}
	w.conditions[e] = true
	w.insert(e, "((", ") != "+on(w.plant(Negate, e))+")")
}

// helpers are the functions of planted for operators, and for methods of times.
var helpers = map[string]string{
	"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual", "Before": "Before", "After": "After",
}

func (w *walker) binary(n *ast.BinaryExpr) {
	switch n.Op { //nolint:exhaustive // the others yield no truth
	case token.LAND, token.LOR, token.EQL, token.NEQ:
		w.condition(n)
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		w.condition(n)
		if w.constant(n) {
			return
		}
		w.insert(n, fmt.Sprintf("%s.%s(%d, ", alias, helpers[n.Op.String()], w.plant(Boundary, n)), ")")
		w.replace(w.offset(n.OpPos), w.offset(n.OpPos)+len(n.Op.String()), ",")
	}
}

// times changes the boundary of Before and After.
func (w *walker) times(n *ast.CallExpr) {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) != 1 || (f.Sel.Name != "Before" && f.Sel.Name != "After") {
		return
	}
	if t := w.info.Types[f.X].Type; t == nil || t.String() != "time.Time" {
		return
	}
	w.insert(n, fmt.Sprintf("%s.%s(%d, ", alias, helpers[f.Sel.Name], w.plant(Boundary, n)), "")
	w.replace(w.offset(f.X.End()), w.offset(n.Lparen)+1, ", ")
}

// statements drops calls and assignments.
func (w *walker) statements(list []ast.Stmt) {
	for _, s := range list {
		op := Assign
		switch s := s.(type) {
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if !ok || w.builtin(call) == "panic" {
				continue
			}
			op = Call
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || w.text(s.Lhs[0]) == "_" {
				continue
			}
		case *ast.IncDecStmt:
		default:
			continue
		}
		w.insert(s, "if !"+on(w.plant(op, s))+" { ", " }")
	}
}

// early makes a function return at once. Results without a name get _ for one, so that a bare return gives their zero values.
func (w *walker) early(d *ast.FuncDecl) {
	if len(d.Body.List) == 0 || w.returnsZero(d.Body.List[0]) {
		return
	}
	if r := d.Type.Results; r != nil && len(r.List[0].Names) == 0 {
		if r.Opening == token.NoPos {
			w.insert(r, "(_ ", ")")
		} else {
			for _, f := range r.List {
				w.insert(f.Type, "_ ", "")
			}
		}
	}
	w.insert(d.Body.List[0], "if "+on(w.plant(Return, d))+" { return }; ", "")
}

// returnsZero reports whether a function that begins with the statement returns zero values anyway.
func (w *walker) returnsZero(s ast.Stmt) bool {
	r, ok := s.(*ast.ReturnStmt)
	if !ok {
		return false
	}
	for _, e := range r.Results {
		text := w.text(e)
		if c, ok := e.(*ast.CompositeLit); ok && len(c.Elts) == 0 && isStruct(w.info.Types[e].Type) {
			continue
		}
		if text != "nil" && text != "false" && text != "0" && text != `""` {
			return false
		}
	}
	return true
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// builtin returns the name of the built-in function that is called, or "".
func (w *walker) builtin(n *ast.CallExpr) string {
	if name, ok := ast.Unparen(n.Fun).(*ast.Ident); ok {
		if b, ok := w.info.Uses[name].(*types.Builtin); ok {
			return b.Name()
		}
	}
	return ""
}

// simple reports whether evaluating an expression twice is the same as once, and no operator instruments it.
func simple(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return simple(e.X)
	case *ast.StarExpr:
		return simple(e.X)
	}
	return false
}

// symmetric reports whether the order of the arguments makes no difference.
func symmetric(name string) bool {
	return name == "min" || name == "max" || strings.Contains(name, "Equal")
}
