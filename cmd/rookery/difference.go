package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// difference is one field in which two values differ.
type difference struct {
	// Field is its path, as in ports[0].name.
	Field string `json:"field"`
	// Old and New are its values; nil for a missing field.
	Old jsontext.Value `json:"old,omitzero"`
	New jsontext.Value `json:"new,omitzero"`
}

// String returns a line for operators: the new value alone for a field that had none before.
func (d difference) String() string {
	switch {
	case d.Old == nil:
		return d.Field + ": " + string(d.New)
	case d.New == nil:
		return d.Field + ": " + string(d.Old) + " → none"
	}
	return d.Field + ": " + string(d.Old) + " → " + string(d.New)
}

// differences compares two values in JSON, field by field. An object that only one value has counts as one field, and so does each
// entry of a list beyond the end of the other list.
func differences(before, after any) ([]difference, error) {
	old, err := decoded(before)
	if err != nil {
		return nil, err
	}
	now, err := decoded(after)
	if err != nil {
		return nil, err
	}
	return appendDifferences(nil, "", old, now)
}

func decoded(value any) (plain any, err error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return plain, json.Unmarshal(body, &plain)
}

// appendDifferences adds the differences below the field. Nil means a missing value, because specs have no null.
func appendDifferences(all []difference, field string, before, after any) ([]difference, error) {
	old, now := members(field, before), members(field, after)
	if old == nil || now == nil || reflect.TypeOf(before) != reflect.TypeOf(after) {
		if reflect.DeepEqual(before, after) {
			return all, nil
		}
		d := difference{Field: field}
		var err error
		if d.Old, err = written(before); err == nil {
			d.New, err = written(after)
		}
		return append(all, d), err
	}
	paths := slices.Collect(maps.Keys(old))
	for path := range now {
		if _, both := old[path]; !both {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	var err error
	for _, path := range paths {
		if all, err = appendDifferences(all, path, old[path], now[path]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// members returns the members of an object or a list, by path; nil for any other value.
func members(field string, value any) map[string]any {
	inside := map[string]any{}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			shown := strconv.QuoteToASCII(name) // a client chose this name
			path := shown[1 : len(shown)-1]
			if field != "" {
				path = field + "." + path
			}
			inside[path] = member
		}
	case []any:
		for i, member := range v {
			inside[fmt.Sprintf("%s[%d]", field, i)] = member
		}
	default:
		return nil
	}
	return inside
}

func written(value any) (jsontext.Value, error) {
	if value == nil {
		return nil, nil
	}
	return json.Marshal(value, json.Deterministic(true))
}
