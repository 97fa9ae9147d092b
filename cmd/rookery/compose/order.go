package compose

import (
	"maps"
	"slices"

	"github.com/compose-spec/compose-go/v2/types"
)

// awaited returns the services that others wait for the end of: they are jobs.
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

// order says what comes after what.
func (m *mapper) order() {
	for _, name := range slices.Sorted(maps.Keys(m.made.Services)) {
		s := m.project.Services[name]
		for _, other := range slices.Sorted(maps.Keys(s.DependsOn)) {
			key := "services." + name + ".depends_on." + other
			if _, there := m.made.Services[other]; !there {
				m.warn(name, key, nil, "it is not applied, so that nothing waits for it")
				continue
			}
			m.made.After[name] = append(m.made.After[name], other)
			if c := s.DependsOn[other].Condition; c == types.ServiceConditionHealthy && !m.checked(other) {
				m.refuse(name, key+".condition", c, "%s has no healthcheck: write one there; what an image has of its own is not asked", other)
			}
		}
	}
}

// checked reports whether a service says how it is known to be healthy, by x-rookery or by healthcheck.
func (m *mapper) checked(name string) bool {
	spec, _ := m.made.Services[name].(map[string]any)
	return spec["health"] != nil
}
