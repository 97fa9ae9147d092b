package views

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Change is the earlier and the present value of a field. Before is absent where the field or its value is new, and After where it is gone.
type Change struct {
	Bucket string         `json:"bucket"`
	Key    string         `json:"key"`
	Field  string         `json:"field"`
	Before jsontext.Value `json:"before,omitzero"`
	After  jsontext.Value `json:"after,omitzero"`
}

// trueAt is the field with the log sequence at which a value is true. It always differs, so Differences leaves it out.
const trueAt = "sequence"

func comparePlaces(a, b Change) int {
	return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Field, b.Field))
}

// Differences returns the changes, field by field and in order, from all values of one state to all values of another.
func Differences(from, to Changes) ([]Change, error) {
	keys := map[Key]bool{}
	for key := range from.Values {
		keys[key] = true
	}
	for key := range to.Values {
		keys[key] = true
	}
	var all []Change
	for key := range keys {
		before, after := from.Values[key], to.Values[key]
		if bytes.Equal(before, after) {
			continue
		}
		changes, err := fieldsThatDiffer(key, before, after)
		if err != nil {
			return nil, err
		}
		all = append(all, changes...)
	}
	slices.SortFunc(all, comparePlaces)
	return all, nil
}

func fieldsThatDiffer(key Key, before, after []byte) ([]Change, error) {
	was, err := fields(before)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", key.Key, key.Bucket, err)
	}
	is, err := fields(after)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", key.Key, key.Bucket, err)
	}
	names := maps.Clone(was)
	maps.Copy(names, is)
	delete(names, trueAt)
	var changes []Change
	for name := range names {
		if !bytes.Equal(was[name], is[name]) {
			changes = append(changes, Change{Bucket: key.Bucket, Key: key.Key, Field: name, Before: was[name], After: is[name]})
		}
	}
	return changes, nil
}

// fields returns the fields of a value; none for a value that does not exist.
func fields(value []byte) (map[string]jsontext.Value, error) {
	all := map[string]jsontext.Value{}
	if len(value) == 0 {
		return all, nil
	}
	return all, json.Unmarshal(value, &all)
}

// Together merges two lists of changes, where the later list starts from the state at which the first one ends.
func Together(first, later []Change) []Change {
	all := map[string]Change{}
	name := func(c Change) string { return c.Bucket + "\x00" + c.Key + "\x00" + c.Field }
	for _, c := range first {
		all[name(c)] = c
	}
	for _, c := range later {
		if before, changed := all[name(c)]; changed {
			c.Before = before.Before
		}
		all[name(c)] = c
	}
	maps.DeleteFunc(all, func(_ string, c Change) bool { return bytes.Equal(c.Before, c.After) })
	return slices.SortedFunc(maps.Values(all), comparePlaces)
}
