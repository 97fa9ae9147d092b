package events

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// MaxMembers is how many services one command may change together.
const MaxMembers = 32

// MaxGrouped is how many services the groups that have not ended may have in all: as they end at once, as after the loss of the commands,
// all that follows from it fits into a round.
const MaxGrouped = 256

// GroupEnsure is the command that several services of one namespace exist with these specs, all of them or none: they change
// in the order of after, and where one does not get there, all of them go back to what they were.
type GroupEnsure struct {
	// Services are the targets of the services, by name.
	Services map[string]GroupMember `json:"services"`
	Guard
}

// GroupMember is the target of one service of a group.
type GroupMember struct {
	Spec
	// Scale is the number of instances, as with ensure of a service.
	Scale *int64 `json:"scale,omitzero" jsonschema:"minimum=0,maximum=10000"`
	// After names services of the same command: this one changes once those have reached their targets. Where the command scales services
	// to 0, this one stops before those do.
	After []string `json:"after,omitempty"`
}

// Kind implements Data.
func (GroupEnsure) Kind() Kind { return v1("group", "ensure") }

// ParseGroupEnsure reads the body of the command as the coordinator does, and checks it as far as that needs no state. Its errors
// are *Rejection.
func ParseGroupEnsure(body []byte) (GroupEnsure, error) {
	var c GroupEnsure
	if err := decodeStrict(body, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

// Ensure returns what the member asks of its service.
func (m GroupMember) Ensure() ServiceEnsure { return ServiceEnsure{Spec: m.Spec, Scale: m.Scale} }

// Names returns the names of the services, in order.
func (c GroupEnsure) Names() []string { return slices.Sorted(maps.Keys(c.Services)) }

func (c GroupEnsure) check() error {
	switch {
	case len(c.Services) == 0:
		return Reject(CodeMissingField, "services", `services is empty: write {"services":{"web":{"image":"localhost/web:1"}}}`)
	case len(c.Services) > MaxMembers:
		return Reject(CodeOutOfRange, "services", "services has %d services, more than %d", len(c.Services), MaxMembers)
	case c.Busy == BusyQueue:
		return Reject(CodeInvalidValue, "busy",
			"busy queue is not for a group, whose services may each have others that wait: send reject or supersede")
	}
	if err := c.Busy.check(); err != nil {
		return err
	}
	for _, name := range c.Names() {
		if err := c.checkMember(name); err != nil {
			return err
		}
	}
	if _, circle := c.Levels(); circle != nil {
		return Reject(CodeInvalidValue, "services."+circle[0]+".after",
			"after is circular, %s: leave one of these out", strings.Join(append(circle, circle[0]), " after "))
	}
	return nil
}

func (c GroupEnsure) checkMember(name string) error {
	if !ValidName(name) {
		return Reject(CodeInvalidName, "services", "services has %s, which is not a name: use 1 to %d of a-z, 0-9 and \"-\", with no \"-\" at either end",
			quote(name), MaxName)
	}
	m, field := c.Services[name], "services."+name+".after"
	if err := m.Ensure().check(); err != nil {
		return InMember(name, err)
	}
	if m.IsJob() {
		return Reject(CodeInvalidValue, "services."+name+".mode",
			"services.%s.mode is job, and a job has nothing to go back to where another service fails: run it by itself", name)
	}
	for i, other := range m.After {
		switch _, known := c.Services[other]; {
		case other == name:
			return Reject(CodeInvalidValue, field, "%s names the service itself", field)
		case !known:
			return Reject(CodeInvalidValue, field, "%s names %s, which is not a service of this command: known are %s", field, quote(other), strings.Join(c.Names(), ", "))
		case slices.Contains(m.After[:i], other):
			return Reject(CodeInvalidValue, field, "%s names %s twice", field, other)
		}
	}
	return nil
}

// InMember puts the service of a group into a rejection that concerns it. It returns other errors, and nil, as they are.
func InMember(name string, err error) error {
	var r *Rejection
	if !errors.As(err, &r) {
		return err
	}
	field := strings.TrimPrefix(r.Field, "subject") // of which the command's own speaks of the group
	return &Rejection{Code: r.Code, Field: strings.TrimSuffix("services."+name+"."+field, "."), Reason: "services." + name + ": " + r.Reason}
}

// Levels returns the names of the services, level by level: each is in the first that comes after those of all that it names. Where
// some name each other in a circle, it returns that instead.
func (c GroupEnsure) Levels() (levels [][]string, circle []string) {
	done, left := map[string]bool{}, c.Names()
	waits := func(name string) string { // for which other
		for _, other := range slices.Sorted(slices.Values(c.Services[name].After)) {
			if !done[other] {
				return other
			}
		}
		return ""
	}
	for len(left) > 0 {
		var level, later []string
		for _, name := range left {
			if waits(name) == "" {
				level = append(level, name)
			} else {
				later = append(later, name)
			}
		}
		if len(level) == 0 {
			return nil, circleFrom(left[0], waits)
		}
		for _, name := range level {
			done[name] = true
		}
		levels, left = append(levels, level), later
	}
	return levels, nil
}

// circleFrom follows which service waits for which, until it meets a service again.
func circleFrom(name string, waits func(string) string) []string {
	var way []string
	for !slices.Contains(way, name) {
		way = append(way, name)
		name = waits(name)
	}
	return way[slices.Index(way, name):]
}

func (c GroupEnsure) normal() Command {
	services := make(map[string]GroupMember, len(c.Services))
	for name, m := range c.Services {
		m.Spec = m.withDefaults()
		if len(m.After) == 0 {
			m.After = nil
		}
		services[name] = m
	}
	c.Services = services
	return c
}
