package compose

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/schema"
)

// TestEveryKeyOfTheSpecificationIsCarriedOrRefused walks the specification's own schema: a key that a later version brings has to
// be decided on.
func TestEveryKeyOfTheSpecificationIsCarriedOrRefused(t *testing.T) {
	all := specification(t).keys()
	if len(all) < 700 || !slices.Contains(all, "services.*.deploy.update_config.order") || !slices.Contains(all, "services.*.ports[].published") {
		t.Fatalf("the walk finds %d keys", len(all))
	}
	for _, path := range all {
		if verdict(path) == unknown {
			t.Errorf("%s is neither carried nor refused: add it to keys.go", path)
		}
	}
}

// TestNoKeyIsDecidedOnThatThereIsNot finds keys in keys.go that the specification does not have.
func TestNoKeyIsDecidedOnThatThereIsNot(t *testing.T) {
	all := specification(t).keys()
	for _, path := range slices.Concat(carried, slices.Collect(maps.Keys(refused))) {
		there := func(known string) bool { return known == path || strings.HasPrefix(known, path+".") }
		if !slices.ContainsFunc(all, there) && !strings.HasPrefix(path, "services.*.networks.default") {
			t.Errorf("the specification has no %s", path)
		}
	}
}

// TestEveryRefusedKeyIsReported reads a file with each key that is not carried. It must report an issue that names the key or one above
// it, its service, its line and an alternative.
func TestEveryRefusedKeyIsReported(t *testing.T) {
	spec := specification(t)
	reported, whole := 0, map[string]bool{}
	for _, path := range spec.keys() {
		if verdict(path) != isRefused || strings.HasSuffix(path, ".*") {
			continue
		}
		reported++
		content := valid(path)
		written, ok := spec.sample(spec.root, steps(path)).(map[string]any)
		if !ok {
			t.Errorf("%s: no file could be made", path)
			continue
		}
		content = merged(content, written)
		file, err := json.MarshalIndent(content, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		issues, read := refusedOf(t, content, string(file))
		if read {
			whole[path] = true
		}
		concrete := named(path)
		found := slices.IndexFunc(issues, func(i Issue) bool {
			return concrete == i.Key || strings.HasPrefix(concrete, i.Key+".") || strings.HasPrefix(concrete, i.Key+"[")
		})
		if found < 0 {
			t.Errorf("%s is not reported; reported is %v of\n%s", path, issues, file)
			continue
		}
		i := issues[found]
		if (read && (i.File != "compose.json" || i.Line == 0)) || i.Instead == "" || (strings.HasPrefix(path, "services.") && i.Service != "web") {
			t.Errorf("%s is reported as %+v", path, i)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(refused)) {
		if !whole[path] && !strings.HasSuffix(path, ".*") && path != "services.*.depends_on.*.restart" { // samples depend on themselves
			t.Errorf("no file with %s was read", path)
		}
	}
	t.Logf("%d keys are refused, and each is reported; %d of them in files that Compose takes as they are", reported, len(whole))
}

// refusedOf returns what is refused of a file, and of its content where Compose refuses the file itself for something else.
func refusedOf(t *testing.T, content map[string]any, file string) (issues []Issue, read bool) {
	t.Helper()
	s, err := Read(t.Context(), []File{{Name: "compose.json", Body: []byte(file)}}, "demo")
	if err != nil {
		return refusedKeys(content), false
	}
	return s.Project().Refused, true
}

// valid is what the specification wants of a file that has the key, beside the key itself.
func valid(path string) map[string]any {
	object := func(name string, value any) map[string]any { return map[string]any{name: value} }
	service := map[string]any{"image": "localhost/web:1"}
	content := map[string]any{
		"services": map[string]any{"web": service},
		"networks": object("web", map[string]any{}), "volumes": object("data", map[string]any{}),
		"models": map[string]any{"web": object("model", "m"), "1": object("model", "m")}, "configs": object("web", object("environment", "PATH")), "secrets": object("web", object("environment", "PATH")),
	}
	if strings.HasPrefix(path, "jobs") { // whose names no service has
		content["services"] = object("other", service)
		content["jobs"] = object("web", map[string]any{"image": "localhost/web:1", "triggers": object("manual", true)})
	}
	for prefix, entry := range map[string]map[string]any{
		"services.*.volumes[].": {"type": "volume", "source": "data", "target": "/data"}, "services.*.ports[].": {"target": 80},
		"services.*.configs[].": {"source": "web"}, "services.*.secrets[].": {"source": "web"},
	} {
		if strings.HasPrefix(path, prefix) {
			service[strings.Split(path, ".")[2][:len(strings.Split(path, ".")[2])-2]] = []any{entry}
		}
	}
	return content
}

type judgement int

const (
	unknown judgement = iota
	isCarried
	isRefused
)

// whole are the carried keys whose own members need no decision: they are free, or read by what carries them.
var whole = []string{
	"include", "services.*.extends", "services.*.env_file", "services.*.ulimits", "configs.*.external", "secrets.*.external",
}

// verdict is what keys says of a path.
func verdict(path string) judgement {
	k := keys
	for _, step := range steps(path) {
		switch {
		case k.instead != "":
			return isRefused
		case len(k.below) == 0 && (step == "*" || step == "[]" || slices.Contains(whole, k.path)):
			return isCarried
		}
		if k = k.step(step); k == nil {
			return unknown
		}
	}
	if k.instead != "" {
		return isRefused
	}
	return isCarried
}

func steps(path string) []string { return strings.Split(strings.ReplaceAll(path, "[]", ".[]"), ".") }

// named writes names for the * and [] of a path, as samples have them.
func named(path string) string {
	parts := strings.Split(path, ".")
	for i := range parts {
		if parts[i] == "*" {
			parts[i] = "web"
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "."), "[]", "[0]")
}

func merged(base, over map[string]any) map[string]any {
	for name, value := range over {
		below, object := value.(map[string]any)
		if under, both := base[name].(map[string]any); both && object {
			base[name] = merged(under, below)
			continue
		}
		old, _ := base[name].([]any)
		if entries, list := value.([]any); list && len(old) == 1 {
			if entry, object := entries[0].(map[string]any); object {
				base[name] = []any{merged(old[0].(map[string]any), entry)}
				continue
			}
		}
		base[name] = value
	}
	return base
}

// jsonSchema is the part of the specification's schema that says which keys there are.
type jsonSchema struct{ root, definitions map[string]any }

func specification(t *testing.T) jsonSchema {
	t.Helper()
	var s jsonSchema
	if err := json.Unmarshal([]byte(schema.Schema), &s.root); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"definitions", "$defs"} {
		if d, ok := s.root[name].(map[string]any); ok {
			s.definitions = d
		}
	}
	return s
}

// alternatives returns a schema and all that it refers to or chooses from, down to those that say a type.
func (s jsonSchema) alternatives(node map[string]any) []map[string]any {
	all := []map[string]any{node}
	if ref, ok := node["$ref"].(string); ok {
		all = append(all, s.alternatives(s.definitions[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any))...)
	}
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		choices, _ := node[word].([]any)
		for _, c := range choices {
			all = append(all, s.alternatives(c.(map[string]any))...)
		}
	}
	return all
}

// below returns the schemas of what stands under a step of a path.
func (s jsonSchema) below(node map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	add := func(name string, value any) {
		if m, ok := value.(map[string]any); ok {
			found[name] = m
		}
	}
	for _, a := range s.alternatives(node) {
		properties, _ := a["properties"].(map[string]any)
		for name, value := range properties {
			add(name, value)
		}
		patterns, _ := a["patternProperties"].(map[string]any)
		for pattern, value := range patterns {
			if pattern != "^x-" {
				add("*", value)
			}
		}
		add("*", a["additionalProperties"])
		add("[]", a["items"])
	}
	if found["*"] == nil {
		delete(found, "*")
	}
	return found
}

func (s jsonSchema) keys() []string {
	var all []string
	var walk func(path string, node map[string]any)
	walk = func(path string, node map[string]any) {
		below := s.below(node)
		for _, name := range slices.Sorted(maps.Keys(below)) {
			next := strings.TrimPrefix(strings.ReplaceAll(path+"."+name, ".[]", "[]"), ".")
			if name != "[]" {
				all = append(all, next)
			}
			walk(next, below[name])
		}
	}
	walk("", s.root)
	return all
}

// sample makes a value that the schema takes and that has something at the path.
func (s jsonSchema) sample(node map[string]any, path []string) any {
	if len(path) == 0 {
		return s.plain(node)
	}
	for _, a := range s.alternatives(node) {
		below, there := s.directly(a)[path[0]]
		if !there {
			continue
		}
		value := s.sample(below, path[1:])
		if path[0] == "[]" {
			return []any{value}
		}
		made := map[string]any{}
		required, _ := a["required"].([]any)
		for _, name := range required {
			made[name.(string)] = s.plain(s.directly(a)[name.(string)])
		}
		name := path[0]
		if name == "*" {
			name = "web"
		}
		if words := map[string]string{"start_interval": "1s", "container_name": "web-1", "restart": ""}; words[name] != "" {
			value = words[name]
		}
		made[name] = value
		return made
	}
	return nil
}

// directly is below without what a schema refers to.
func (s jsonSchema) directly(node map[string]any) map[string]map[string]any {
	own := maps.Clone(node)
	for _, word := range []string{"$ref", "oneOf", "anyOf", "allOf"} {
		delete(own, word)
	}
	return s.below(own)
}

// plain makes a value that the schema takes, and that says something.
func (s jsonSchema) plain(node map[string]any) any {
	for _, a := range s.alternatives(node) {
		if pattern, ok := a["pattern"].(string); ok && strings.HasPrefix(pattern, "[a-z") {
			return "web-1"
		}
		if choices, ok := a["enum"].([]any); ok {
			return choices[0]
		}
		kind, _ := a["type"].(string)
		if kinds, ok := a["type"].([]any); ok {
			kind = kinds[0].(string)
		}
		switch kind {
		case "boolean":
			return true
		case "integer", "number":
			return 1
		case "string":
			if a["format"] == "duration" {
				return "1s"
			}
			return "1"
		case "array":
			if items, ok := a["items"].(map[string]any); ok {
				return []any{s.plain(items)}
			}
			return []any{"1"}
		case "object":
			made := map[string]any{}
			required, _ := a["required"].([]any)
			for _, name := range required {
				made[name.(string)] = s.plain(s.directly(a)[name.(string)])
			}
			return made
		}
	}
	return "1"
}
