package instrument

import (
	"fmt"
	"go/ast"
	"go/types"
)

// swap swaps neighbouring arguments of a call that have the same type.
func (w *walker) swap(n *ast.CallExpr) {
	builtin := w.builtin(n)
	if n.Ellipsis.IsValid() || w.info.Types[n.Fun].IsType() || symmetric(calledName(n)) || w.formats(n) {
		return
	}
	for i := 0; i+1 < len(n.Args); i++ {
		a, b := n.Args[i], n.Args[i+1]
		if !w.alike(a, b) {
			continue
		}
		switch {
		case simple(a) && simple(b):
			m := w.plant(Swap, n)
			first, second := w.text(a), w.text(b)
			w.pick(a, m, first, second)
			w.pick(b, m, second, first)
			i++ // the second has changed places, and stays there
		case len(n.Args) == 2 && builtin == "":
			w.splices = append(w.splices,
				splice{at: w.offset(a.Pos()), span: w.offset(b.End()) - w.offset(a.Pos()), text: fmt.Sprintf("%s.Swap(%d, ", alias, w.plant(Swap, n))},
				splice{at: w.offset(b.End()), span: w.offset(b.End()) - w.offset(a.Pos()), ends: true, text: ")"})
		default:
			w.skip("arguments that call functions, among others")
		}
	}
}

func (w *walker) pick(at ast.Expr, m uint16, first, second string) {
	w.replace(w.offset(at.Pos()), w.offset(at.End()), fmt.Sprintf("%s.Pick(%d, %s, %s)", alias, m, first, second))
}

// alike reports whether two arguments are of one type, differ, and are not both constants: these have their type from the call.
func (w *walker) alike(a, b ast.Expr) bool {
	of, other := w.info.Types[a], w.info.Types[b]
	if of.Type == nil || other.Type == nil || of.IsNil() || other.IsNil() || (of.Value != nil && other.Value != nil) {
		return false
	}
	return types.Identical(of.Type, other.Type) && w.text(a) != w.text(b)
}

func calledName(n *ast.CallExpr) string {
	switch f := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// formats reports whether the call makes a message of its arguments: its last parameters are any number of any values.
func (w *walker) formats(n *ast.CallExpr) bool {
	s, ok := w.info.Types[n.Fun].Type.(*types.Signature)
	if !ok || !s.Variadic() {
		return false
	}
	last := s.Params().At(s.Params().Len() - 1).Type().(*types.Slice).Elem()
	of, ok := types.Unalias(last).(*types.Interface)
	return ok && of.Empty()
}
