package compose

import (
	"maps"
	"slices"

	"github.com/compose-spec/compose-go/v2/types"
)

// awaited returns the services that others wait for to complete. They are jobs.
func (s *Source) awaited() map[string]bool {
	jobs := map[string]bool{}
	for _, other := range s.project.Services {
		for name, on := range other.DependsOn {
			if on.Condition == types.ServiceConditionCompletedSuccessfully {
				jobs[name] = true
			}
		}
	}
	return jobs
}

// order maps the dependencies between services.
func (m *mapper) order() {
	for _, name := range slices.Sorted(maps.Keys(m.made.Services)) {
		s := m.project.Services[name]
		for _, other := range slices.Sorted(maps.Keys(s.DependsOn)) {
			key := "services." + name + ".depends_on." + other
			if _, there := m.made.Services[other]; !there {
				m.warn(name, key, nil, "apply skips this service, so no other service waits for it")
				continue
			}
			m.made.After[name] = append(m.made.After[name], other)
			if c := s.DependsOn[other].Condition; c == types.ServiceConditionHealthy && !m.checked(other) {
				m.refuse(name, key+".condition", c, "%s has no healthcheck: write one there, because Rookery does not use the health "+
					"check of an image", other)
			}
		}
	}
}

// checked reports whether a service has a health check, in x-rookery or in healthcheck.
func (m *mapper) checked(name string) bool {
	spec, _ := m.made.Services[name].(map[string]any)
	return spec["health"] != nil
}
