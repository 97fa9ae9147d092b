package events

import (
	"fmt"
	"math"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode"
	"unicode/utf8"
)

// A template is one of text/template, of which a part is taken: text, the fields and functions below, if, and range over
// the peers. All of it has a kind and a greatest length that are known before anything is assigned. So a template that is
// taken cannot fail, and what it makes and does is bounded: text/template itself loops, recurs and doubles text at will.

// templateBegins begins what is more than text.
const templateBegins = "{{"

// literally says how to have what begins a template in a text.
const literally = `; to write {{ in the text itself, use {{"{{"}}`

// maxAddress is the length of the longest IP address with its port.
const maxAddress = int64(len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535"))

// templateKind is what a part of a template is.
type templateKind string

const (
	kindText   templateKind = "text"
	kindNumber templateKind = "a number"
	kindTruth  templateKind = "true or false"
	kindList   templateKind = "a list"
)

// operand is what is known of a part of a template before it is rendered.
type operand struct {
	kind templateKind
	most int64 // bytes of what it prints as
	// joined says that it is a text made from a list. It can be printed, and nothing else: so all text that is made
	// is counted where it is printed.
	joined bool
}

var (
	aNumber = operand{kind: kindNumber, most: int64(len("-9223372036854775808"))}
	aTruth  = operand{kind: kindTruth, most: int64(len("false"))}
	anEntry = operand{kind: kindText, most: maxAddress}
)

// templateFields are those of the dot: what they are, and what they take.
var templateFields = map[string]struct {
	is    operand
	takes []templateKind // a text is the name of a port
}{
	"Namespace":  {is: operand{kind: kindText, most: MaxName}},
	"Service":    {is: operand{kind: kindText, most: MaxName}},
	"Ordinal":    {is: aNumber},
	"Generation": {is: aNumber},
	"Address":    {is: anEntry, takes: []templateKind{kindText}},
	"Peers":      {is: operand{kind: kindList}, takes: []templateKind{kindText}},
	"Peer":       {is: anEntry, takes: []templateKind{kindText, kindNumber}},
}

func knownFields() string { return "." + strings.Join(namesOf(templateFields), ", .") }

// templateReader reads the templates of one spec.
type templateReader struct {
	ports []Port
	scale int64

	// field is that of the template being read. ranging says that this part of it is within a range, and variables are
	// those of the range.
	field     string
	ranging   bool
	variables map[string]operand
	// made and steps are the most that all templates together make and do.
	made, steps int64
}

// read returns the template, or a *Rejection that says which rule it breaks.
func (r *templateReader) read(field, text string) (*template.Template, error) {
	r.field = field
	const name = "template"
	tree, trees := parse.New(name), map[string]*parse.Tree{}
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return nil, r.reject("is not a template: %s%s", plainError(err), literally)
	}
	for _, other := range trees {
		if other != tree {
			return nil, r.reject("defines a template within a template: write it out where it is needed")
		}
	}
	if err := r.nodes(tree.Root); err != nil {
		return nil, err
	}
	if r.made > MaxRendered {
		return nil, Reject(CodeOutOfRange, field, "%s, with the templates before it, may make %d bytes, more than %d: name fewer addresses", field, r.made, MaxRendered)
	}
	if r.steps > MaxSteps {
		return nil, Reject(CodeOutOfRange, field, "%s, with the templates before it, may take %d steps, more than %d: range over the peers less often", field, r.steps, MaxSteps)
	}
	t, err := template.New(name).Funcs(template.FuncMap{"join": strings.Join}).AddParseTree(name, tree)
	if err != nil {
		return nil, r.reject("is not a template: %s", plainError(err))
	}
	return t, nil
}

func (r *templateReader) reject(format string, args ...any) error {
	return Reject(CodeInvalidValue, r.field, "%s %s", r.field, fmt.Sprintf(format, args...))
}

// plainError returns what text/template says, without the name that it gives to a template.
func plainError(err error) string {
	said, cut := strings.CutPrefix(err.Error(), "template: template:")
	if cut {
		said = "line " + said
	}
	const most = 200
	return plain(said, most)
}

// shown writes a part of a template for a message.
func shown(n parse.Node) string {
	const most = 80
	return plain(n.String(), most)
}

// plain returns the beginning of the text, with "?" for what cannot be printed.
func plain(text string, most int) string {
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) || c == utf8.RuneError {
			return '?'
		}
		return c
	}, text[:min(len(text), most)])
}

// step counts what is done once, or once for each peer within a range.
func (r *templateReader) step(times int64) {
	if r.ranging {
		times *= r.scale
	}
	r.steps += times
}

// prints counts the bytes that are printed.
func (r *templateReader) prints(bytes int64) {
	if r.ranging {
		bytes *= r.scale
	}
	r.made += bytes
}

func (r *templateReader) nodes(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Nodes {
		r.step(1)
		if err := r.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (r *templateReader) node(n parse.Node) error {
	switch n := n.(type) {
	case *parse.TextNode:
		r.prints(int64(len(n.Text)))
		return nil
	case *parse.ActionNode:
		o, err := r.pipe(n.Pipe)
		if err != nil {
			return err
		}
		if o.kind == kindList {
			return r.reject(`prints the list %s: write {{join (.Peers "…") ","}}, or range over it`, shown(n.Pipe))
		}
		r.prints(o.most)
		return nil
	case *parse.IfNode:
		if _, err := r.operandOf(n.Pipe); err != nil {
			return err
		}
		if err := r.nodes(n.List); err != nil {
			return err
		}
		return r.nodes(n.ElseList)
	case *parse.RangeNode:
		return r.rangeOver(n)
	}
	return r.reject("has %s in it: templates take if and range, and print what they name", shown(n))
}

// rangeOver reads a range, which is over the peers: they alone are a list. It is within no other, so that what is done
// grows no faster than the scale.
func (r *templateReader) rangeOver(n *parse.RangeNode) error {
	if r.ranging {
		return r.reject("has a range within a range: range over the peers once at a time")
	}
	declared := n.Pipe.Decl
	n.Pipe.Decl = nil
	o, err := r.operandOf(n.Pipe)
	n.Pipe.Decl = declared
	if err != nil {
		return err
	}
	if o.kind != kindList {
		return r.reject(`ranges over %s, which is %s: write {{range .Peers "…"}}`, shown(n.Pipe), o.kind)
	}
	kinds := []operand{aNumber, anEntry}
	r.variables = map[string]operand{}
	for i, v := range declared {
		if v.Ident[0] == "$" || n.Pipe.IsAssign {
			return r.reject("sets the variable %s again: give it another name, as in {{range $i, $peer := .Peers …}}", v)
		}
		r.variables[v.Ident[0]] = kinds[len(kinds)-len(declared)+i]
	}
	r.ranging = true
	err = r.nodes(n.List)
	r.ranging, r.variables = false, nil
	if err != nil {
		return err
	}
	return r.nodes(n.ElseList)
}

// pipe reads what stands between the braces, or between parentheses.
func (r *templateReader) pipe(p *parse.PipeNode) (operand, error) {
	if len(p.Decl) > 0 {
		return operand{}, r.reject("sets the variable %s: only range has variables", p.Decl[0])
	}
	if len(p.Cmds) != 1 {
		return operand{}, r.reject("has a pipe in it, %s: write the function before what it takes, as in {{join (.Peers \"…\") \",\"}}", shown(p))
	}
	args := p.Cmds[0].Args
	switch first := args[0].(type) {
	case *parse.IdentifierNode:
		return r.call(first.Ident, args[1:])
	case *parse.FieldNode, *parse.VariableNode:
		return r.named(first, args[1:])
	}
	if len(args) > 1 {
		return operand{}, r.reject("gives something to %s, which takes nothing", shown(args[0]))
	}
	return r.argument(args[0])
}

// operandOf reads what is decided on, or ranged over.
func (r *templateReader) operandOf(p *parse.PipeNode) (operand, error) {
	o, err := r.pipe(p)
	if err == nil && o.joined {
		err = r.reject("uses what is joined in %s: it can be printed, and nothing else", shown(p))
	}
	return o, err
}

// argument reads one word of a call.
func (r *templateReader) argument(n parse.Node) (operand, error) {
	r.step(1)
	switch n := n.(type) {
	case *parse.StringNode:
		if !utf8.ValidString(n.Text) || strings.IndexByte(n.Text, 0) >= 0 {
			return operand{}, r.reject("has %s in it, which is not UTF-8 text, or has a NUL byte", shown(n))
		}
		return operand{kind: kindText, most: int64(len(n.Text))}, nil
	case *parse.NumberNode:
		if !n.IsInt || n.Int64 > math.MaxInt32 || strings.Trim(n.Text, "0123456789") != "" {
			return operand{}, r.reject("has the number %s in it: numbers are whole, from 0 to %d", shown(n), math.MaxInt32)
		}
		return aNumber, nil
	case *parse.BoolNode:
		return aTruth, nil
	case *parse.DotNode:
		if r.ranging {
			return anEntry, nil
		}
		return operand{}, r.reject("has a bare dot in it: name a field, as in {{.Ordinal}}")
	case *parse.PipeNode:
		return r.operandOf(n)
	case *parse.FieldNode, *parse.VariableNode:
		return r.named(n, nil)
	case *parse.IdentifierNode:
		return r.call(n.Ident, nil)
	}
	return operand{}, r.reject("has %s in it, which templates do not take", shown(n))
}
