package instrument

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"
)

// splice is a text that goes into a copy: before or behind a part of the source, or in its place. A splice has no line break, so that lines
// keep their numbers.
type splice struct {
	at   int // offset in the source
	cut  int // bytes that it replaces
	span int // length of the part that it is about: of two at one place the shorter stands closer to the source
	ends bool
	text string
}

// insert puts texts around a node.
func (w *walker) insert(n ast.Node, before, behind string) {
	from, to := w.offset(n.Pos()), w.offset(n.End())
	if before != "" {
		w.splices = append(w.splices, splice{at: from, span: to - from, text: before})
	}
	if behind != "" {
		w.splices = append(w.splices, splice{at: to, span: to - from, ends: true, text: behind})
	}
}

// replace puts a text in the place of a part of the source, in which there must be no other splice.
func (w *walker) replace(from, to int, text string) {
	w.splices = append(w.splices, splice{at: from, cut: to - from, text: text})
}

// spliced returns the source with the splices, which are in the order in which their nodes were visited: outer ones first.
func spliced(source []byte, splices []splice) string {
	begins := slices.DeleteFunc(slices.Clone(splices), func(s splice) bool { return s.ends })
	ends := slices.DeleteFunc(slices.Clone(splices), func(s splice) bool { return !s.ends })
	slices.Reverse(ends)
	slices.SortStableFunc(begins, func(a, b splice) int { return cmp.Compare(b.span, a.span) })
	slices.SortStableFunc(ends, func(a, b splice) int { return cmp.Compare(a.span, b.span) })
	ordered := slices.Concat(ends, begins)
	slices.SortStableFunc(ordered, func(a, b splice) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	done := 0
	for _, s := range ordered {
		b.Write(source[done:s.at])
		b.WriteString(s.text)
		done = s.at + s.cut
	}
	b.Write(source[done:])
	return b.String()
}
