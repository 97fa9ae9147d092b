package events

import (
	"strings"
	"text/template/parse"
)

// named reads a field of the dot, or a variable of a range.
func (r *templateReader) named(n parse.Node, args []parse.Node) (operand, error) {
	var path []string
	switch n := n.(type) {
	case *parse.FieldNode:
		if r.ranging {
			return operand{}, r.reject("has %s within a range, where the dot is the address: write $%s", shown(n), shown(n))
		}
		path = n.Ident
	case *parse.VariableNode:
		if v, ok := r.variables[n.Ident[0]]; ok && len(n.Ident) == 1 && len(args) == 0 {
			return v, nil
		}
		if n.Ident[0] == "$" {
			path = n.Ident[1:]
		}
	}
	if len(path) != 1 {
		return operand{}, r.reject("has %s in it, which has no such field: known are %s", shown(n), knownFields())
	}
	f, ok := templateFields[path[0]]
	if !ok {
		if near := nearest(path[0], namesOf(templateFields)); near != "" {
			return operand{}, r.reject("has %s in it: did you mean .%s?", shown(n), near)
		}
		return operand{}, r.reject("has %s in it: known are %s", shown(n), knownFields())
	}
	if f.is.kind == kindList {
		f.is.most = r.scale
		r.step(r.scale)
	}
	return f.is, r.takes(shown(n), f.takes, args)
}

// takes holds what a field is given to what it takes. The name of a port stands there literally: so it is known here.
func (r *templateReader) takes(name string, kinds []templateKind, args []parse.Node) error {
	if len(args) != len(kinds) {
		forms := map[int]string{0: name, 1: name + ` "` + r.somePort() + `"`, 2: name + ` "` + r.somePort() + `" 0`}
		return r.reject("gives %d words to %s, which takes %d: write (%s)", len(args), name, len(kinds), forms[len(kinds)])
	}
	for i, arg := range args {
		if kinds[i] == kindText {
			if err := r.port(name, arg); err != nil {
				return err
			}
			continue
		}
		o, err := r.argument(arg)
		if err != nil {
			return err
		}
		if o.kind != kinds[i] {
			return r.reject("gives %s to %s, which is %s and not %s", shown(arg), name, o.kind, kinds[i])
		}
	}
	return nil
}

func (r *templateReader) port(name string, arg parse.Node) error {
	r.step(1)
	literal, ok := arg.(*parse.StringNode)
	if !ok {
		return r.reject("gives %s to %s: write the name of a port in quotes", shown(arg), name)
	}
	names := make([]string, 0, len(r.ports))
	for _, p := range r.ports {
		if p.Name == literal.Text {
			return nil
		}
		names = append(names, p.Name)
	}
	if near := nearest(literal.Text, names); near != "" {
		return r.reject("asks for the port %s, which the service does not have: did you mean %q?", shown(arg), near)
	}
	return r.reject("asks for the port %s, which the service does not have: it has %d, %s", shown(arg), len(names), strings.Join(names, ", "))
}

func (r *templateReader) somePort() string {
	if len(r.ports) == 0 {
		return "…"
	}
	return r.ports[0].Name
}
