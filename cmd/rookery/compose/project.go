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

// Project is what the services of a namespace are to be.
type Project struct {
	Name string
	// Services has under the name of each what ensure takes for it, as JSON.
	Services map[string]any
	// Left are the services that the files list and that cannot be had at all.
	Left []string
	// After names the services of the project that each comes after.
	After map[string][]string
	// Configs are what the bucket of configs is to have, by key.
	Configs map[string][]byte
	// Refused is what the files ask for and Rookery does not do: it is not in Services. Otherwise is what it does, but not as
	// Compose does.
	Refused, Otherwise []Issue
}

// mapper makes a project of a source.
type mapper struct {
	*Source
	made Project
	// jobs are the services that others wait for the end of.
	jobs map[string]bool
	// configs are the names of the project's configs, as the bucket has them.
	configs map[string]string
}

// Project returns what the files' services are to be. Where nothing is refused that is all that they say.
func (s *Source) Project() Project {
	m := &mapper{Source: s, jobs: s.awaited(), configs: map[string]string{}}
	m.made = Project{
		Name: s.project.Name, Services: map[string]any{}, After: map[string][]string{}, Configs: map[string][]byte{},
		Refused: refusedKeys(s.model),
	}
	for _, name := range slices.Sorted(maps.Keys(s.project.Volumes)) {
		if d := s.project.Volumes[name].Driver; d != "" && d != "local" {
			m.refuse("", "volumes."+name+".driver", d, "volumes are the node's Podman's own: leave it out, or mount a path that every node has as type bind")
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
	case len(s.Profiles) > 0 || s.Image == "" && (s.Build != nil || s.Provider != nil): // which is refused already
		return
	case !events.ValidName(s.Name):
		m.refuse(s.Name, "services."+s.Name, nil, "a service is named with a-z, 0-9 and \"-\", at most %d: name it %s", events.MaxName, label(s.Name))
		return
	case s.Image == "":
		o.refuse("image", nil, "a service is made from an image: name one")
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

// asJSON returns a value as JSON has it.
func asJSON(value any) (plain any, err error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return plain, json.Unmarshal(body, &plain)
}

// overlaid lays what x-rookery says over a service: objects member by member, all else as a whole.
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
