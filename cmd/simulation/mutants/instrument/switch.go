package instrument

import (
	"fmt"
	"go/ast"
	"slices"
)

// cases deletes each case of a switch. A switch over a value becomes one over conditions, because only a condition can be switched off.
func (w *walker) cases(n *ast.SwitchStmt) {
	var clauses []*ast.CaseClause
	for _, s := range n.Body.List {
		if c := s.(*ast.CaseClause); len(c.List) > 0 {
			clauses = append(clauses, c)
		}
	}
	if len(clauses) == 0 {
		return
	}
	if n.Tag == nil {
		for _, c := range clauses {
			m := w.plant(Case, c)
			for _, e := range c.List {
				w.insert(e, "(", ") && !"+on(m))
				w.condition(e)
			}
		}
		return
	}
	tag := w.text(n.Tag)
	switch {
	case w.constant(n.Tag):
		w.skip("a switch over a constant")
		return
	case n.Init == nil:
		tag = fmt.Sprintf("tag%d__", w.offset(n.Pos()))
		w.insert(n.Tag, tag+" := ", ";")
	case simple(n.Tag):
		w.replace(w.offset(n.Tag.Pos()), w.offset(n.Tag.End()), "")
	default:
		w.skip("a switch with a statement, over a call")
		return
	}
	for _, c := range clauses {
		m := w.plant(Case, c)
		for _, e := range c.List {
			w.insert(e, tag+" == (", ") && !"+on(m))
		}
	}
}

// types deletes each case of a switch over types: a value of one of them becomes nil.
func (w *walker) types(n *ast.TypeSwitchStmt) {
	var assertion *ast.TypeAssertExpr
	switch s := n.Assign.(type) {
	case *ast.ExprStmt:
		assertion = s.X.(*ast.TypeAssertExpr)
	case *ast.AssignStmt:
		assertion = s.Rhs[0].(*ast.TypeAssertExpr)
	}
	for _, s := range n.Body.List {
		c := s.(*ast.CaseClause)
		if len(c.List) == 0 || slices.ContainsFunc(c.List, func(e ast.Expr) bool { return w.info.Types[e].IsNil() }) {
			continue
		}
		m := w.plant(Case, c)
		for _, e := range c.List {
			w.insert(assertion.X, fmt.Sprintf("%s.Without[%s](%d, ", alias, w.text(e), m), ")")
		}
	}
}
