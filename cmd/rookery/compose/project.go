package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// Project is the wanted services of a namespace.
type Project struct {
	Name string
	// Services maps the name of each service to the body of its ensure command, as JSON.
	Services map[string]any
	// Left are the services of the files that Rookery cannot run.
	Left []string
	// After maps each service to the services that must change before it.
	After map[string][]string
	// Configs are the configs that the bucket must hold, by key.
	Configs map[string][]byte
	// Refused lists keys that Rookery does not support, and that Services therefore omits. Otherwise lists keys that work differently
	// than in Compose.
	Refused, Otherwise []Issue
}

// mapper turns a source into a project.
type mapper struct {
	*Source
	made Project
	// jobs are the services that others wait for to complete.
	jobs map[string]bool
	// configs are the names of the project's configs in the bucket.
	configs map[string]string
}

// Project returns the wanted services of the files. It is complete if it refuses no key.
func (s *Source) Project() Project {
	m := &mapper{Source: s, jobs: s.awaited(), configs: map[string]string{}}
	m.made = Project{
		Name: s.project.Name, Services: map[string]any{}, After: map[string][]string{}, Configs: map[string][]byte{},
		Refused: refusedKeys(s.model),
	}
	for _, name := range slices.Sorted(maps.Keys(s.project.Volumes)) {
		if d := s.project.Volumes[name].Driver; d != "" && d != "local" {
			m.refuse("", "volumes."+name+".driver", d, "the node's Podman stores volumes itself: leave it out, or mount a path that "+
				"every node has as type bind")
		}
	}
	m.readConfigs()
	for _, name := range slices.Sorted(maps.Keys(s.project.Services)) {
		m.service(s.project.Services[name])
		if m.made.Services[name] == nil {
			m.made.Left = append(m.made.Left, name)
		}
	}
	m.shared()
	m.order()
	for _, issues := range [][]Issue{m.made.Refused, m.made.Otherwise} {
		for i := range issues {
			issues[i].File, issues[i].Line = s.where.of(issues[i].Key)
		}
	}
	return m.made
}

func (m *mapper) refuse(service, key string, value any, format string, args ...any) {
	m.made.Refused = append(m.made.Refused, Issue{Service: service, Key: key, Wanted: shown(value), Instead: fmt.Sprintf(format, args...)})
}

func (m *mapper) warn(service, key string, value any, format string, args ...any) {
	m.made.Otherwise = append(m.made.Otherwise, Issue{Service: service, Key: key, Wanted: shown(value), Instead: fmt.Sprintf(format, args...)})
}

// one maps one service.
type one struct {
	*mapper
	types.ServiceConfig
	is events.ServiceEnsure
}

func (o *one) refuse(key string, value any, format string, args ...any) {
	o.mapper.refuse(o.Name, "services."+o.Name+"."+key, value, format, args...)
}

func (o *one) warn(key string, value any, format string, args ...any) {
	o.mapper.warn(o.Name, "services."+o.Name+"."+key, value, format, args...)
}

// service adds a service, unless it cannot be any.
func (m *mapper) service(s types.ServiceConfig) {
	o := &one{mapper: m, ServiceConfig: s}
	switch {
	case len(s.Profiles) > 0 || s.Image == "" && (s.Build != nil || s.Provider != nil): // walk has refused it
		return
	case !events.ValidName(s.Name):
		m.refuse(s.Name, "services."+s.Name, nil, "the name of a service has at most %d of a-z, 0-9 and \"-\": name it "+
			"%s", events.MaxName, label(s.Name))
		return
	case s.Image == "":
		o.refuse("image", nil, "a service needs an image: name one")
		return
	}
	o.is.Image = s.Image
	o.process()
	o.deploy()
	o.network()
	o.storage()
	o.files()
	o.health()
	o.restarts()
	o.updates()
	plain, err := asJSON(o.is)
	if err != nil {
		o.refuse("image", nil, "%v", err)
		return
	}
	o.made.Services[s.Name] = overlaid(plain, s.Extensions["x-rookery"])
}

// asJSON returns a value as decoded JSON.
func asJSON(value any) (plain any, err error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return plain, json.Unmarshal(body, &plain)
}

// overlaid merges x-rookery into a service: objects member by member, all other values as a whole.
func overlaid(under, over any) any {
	members, object := over.(map[string]any)
	base, both := under.(map[string]any)
	if over == nil {
		return under
	}
	if !object || !both {
		return over
	}
	for name, value := range members {
		base[name] = overlaid(base[name], value)
	}
	return base
}

// label makes a name of a-z, 0-9 and "-" from another.
func label(name string) string {
	clean := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, name), "-")
	return strings.Trim(clean[:min(len(clean), events.MaxName)], "-")
}
