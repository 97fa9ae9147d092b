package events

import (
	"maps"
	"slices"
	"strings"
	"text/template/parse"
)

// templateFunctions are the functions that a template may call, as operators write a call.
var templateFunctions = map[string]string{
	"join": `join (.Peers "…") ","`, "len": `len (.Peers "…")`, "not": "not a", "and": "and a b", "or": "or a b",
	"eq": "eq a b", "ne": "ne a b", "lt": "lt a b", "le": "le a b", "gt": "gt a b", "ge": "ge a b",
}

// call reads the call of a function.
func (r *templateReader) call(name string, words []parse.Node) (operand, error) {
	form, ok := templateFunctions[name]
	if !ok {
		if near := nearest(name, namesOf(templateFunctions)); near != "" {
			return operand{}, r.reject("calls %s, which is not a function: did you mean %q?", quote(name), near)
		}
		return operand{}, r.reject("calls %s, which is not a function: known are %s", quote(name), strings.Join(namesOf(templateFunctions), ", "))
	}
	args := make([]operand, len(words))
	for i, word := range words {
		var err error
		if args[i], err = r.argument(word); err != nil {
			return operand{}, err
		}
	}
	is, ok := resultOf(name, args)
	if !ok {
		return operand{}, r.reject("calls %s with what it does not take: write {{%s}}, with both of one kind, text or number, where there are two", name, form)
	}
	if name == "join" {
		r.step(r.scale)
	}
	return is, nil
}

// resultOf returns what the function makes of these, and false where it does not take them.
func resultOf(name string, args []operand) (operand, bool) {
	is := func(kinds ...templateKind) bool {
		return slices.EqualFunc(args, kinds, func(o operand, kind templateKind) bool { return o.kind == kind })
	}
	switch name {
	case "join":
		if !is(kindList, kindText) {
			return operand{}, false
		}
		return operand{kind: kindText, most: args[0].most * (maxAddress + args[1].most), joined: true}, true
	case "len":
		return aNumber, is(kindList)
	case "not":
		return aTruth, len(args) == 1
	case "lt", "le", "gt", "ge":
		return aTruth, is(kindNumber, kindNumber)
	}
	if len(args) != 2 || args[0].kind != args[1].kind || args[0].kind == kindList {
		return operand{}, false
	}
	if name == "eq" || name == "ne" {
		return aTruth, true
	}
	return operand{kind: args[0].kind, most: max(args[0].most, args[1].most)}, true
}

func namesOf[V any](known map[string]V) []string { return slices.Sorted(maps.Keys(known)) }
