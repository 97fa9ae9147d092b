package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unknownKey is the advice for a key that this version does not know.
const unknownKey = "this version of Rookery does not know the key: leave it out"

// refusedKeys returns an issue for every key of the model that Rookery does not carry, in the order of their paths.
func refusedKeys(model map[string]any) []Issue {
	return keys.walk(nil, "", model)
}

// walk adds the issues at and below the path of a known key.
func (k *key) walk(found []Issue, path string, value any) []Issue {
	switch {
	case k.instead != "":
		if says(value) || alwaysRefused[k.path] {
			found = append(found, issueAt(path, value, k.instead))
		}
		return found
	case len(k.below) == 0:
		return found
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			next, below := k.step(name), strings.TrimPrefix(path+"."+name, ".")
			switch {
			case next == nil && strings.HasPrefix(name, "x-"):
			case next == nil:
				found = append(found, issueAt(below, v[name], unknownKey))
			default:
				found = next.walk(found, below, v[name])
			}
		}
	case []any:
		for i, entry := range v {
			if next := k.step("[]"); next != nil {
				found = next.walk(found, fmt.Sprintf("%s[%d]", path, i), entry)
			}
		}
	}
	return found
}

// says reports whether a value asks for anything: false and empty values do not.
func says(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	}
	return true
}

// issueAt returns an issue with a key; its file and line are filled in later.
func issueAt(path string, value any, instead string) Issue {
	i := Issue{Key: path, Wanted: shown(value), Instead: instead}
	if steps := strings.Split(path, "."); steps[0] == "services" && len(steps) > 2 {
		i.Service = steps[1]
	}
	return i
}
