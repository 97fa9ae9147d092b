package events

import (
	"maps"
	"slices"
)

// GroupID names a group: the services of a namespace that one command changes. At most one group of a name has not ended. It prints as
// "namespace/name".
type GroupID struct {
	Namespace string
	Name      string
}

// String returns "namespace/name".
func (g GroupID) String() string { return g.Namespace + "/" + g.Name }

// MarshalText writes "namespace/name".
func (g GroupID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (g *GroupID) UnmarshalText(text []byte) error {
	var id ServiceID
	err := id.UnmarshalText(text)
	*g = GroupID(id)
	return err
}

// MembersOf returns the services of a group that an event names; none for any other event.
func MembersOf(r Record) []ServiceID {
	var names []string
	switch d := r.Data.(type) {
	case GroupStarted:
		names = slices.Sorted(maps.Keys(d.Services))
	case GroupEnded:
		names = d.Services
	}
	id, _ := r.Scope.Group()
	members := make([]ServiceID, len(names))
	for i, name := range names {
		members[i] = id.Member(name)
	}
	return members
}

// Member returns the service of that name in the group's namespace.
func (g GroupID) Member(name string) ServiceID { return ServiceID{Namespace: g.Namespace, Name: name} }

// ParseGroupID reads "namespace/name". It returns a *Rejection for anything else.
func ParseGroupID(s string) (GroupID, error) {
	id, err := ParseServiceID(s)
	return GroupID(id), err
}

// GroupStarted says that several services change together, and to which targets. From here on the command holds each service, and the
// service changes with its stage.
type GroupStarted struct {
	// Command is the sequence of the command, which is the group's name in what follows.
	Command uint64 `json:"command"`
	// Services are the targets of the services, by name.
	Services map[string]GroupMember `json:"services"`
	// Stages are the names of the services in the order in which they change: a stage begins once all services of the stages before it have
	// reached their targets.
	Stages [][]string `json:"stages"`
}

// GroupBefore is what a service was asked to be before its group changed it.
type GroupBefore struct {
	Revision uint64 `json:"revision"`
	Scale    uint32 `json:"scale"`
}

// GroupEntered says that the services of a stage change now, or with back that they go back.
type GroupEntered struct {
	Command uint64 `json:"command"`
	// Stage counts from 1.
	Stage    uint32   `json:"stage"`
	Services []string `json:"services"`
	// Before is what services of the stage go back to, by name; without those that there were none of, or that were to be dropped.
	Before map[string]GroupBefore `json:"before,omitempty"`
	Back   bool                   `json:"back,omitzero"`
}

// GroupAborted says that a service does not reach its target: from here on all services that have changed go back, the last stage first.
type GroupAborted struct {
	Command uint64 `json:"command"`
	// Service is the one that failed; missing where an operator has cancelled the group.
	Service string `json:"service,omitempty"`
	// Message is a text that says why.
	Message string `json:"message"`
}

// GroupOutcome is how a group ended.
type GroupOutcome string

// The outcomes of a group.
const (
	GroupDone       GroupOutcome = "done"       // every service has reached its target
	GroupGoneBack   GroupOutcome = "gone-back"  // every service is asked to be what it was before
	GroupSuperseded GroupOutcome = "superseded" // a later command took services of it: the others are asked to be what they were before
	GroupAbandoned  GroupOutcome = "abandoned"  // the coordinator cannot decide it, because of a defect of its own: every service stays as it is
)

// GroupEnded says that a group no longer holds its services.
type GroupEnded struct {
	Command uint64       `json:"command"`
	Outcome GroupOutcome `json:"outcome"`
	// Services are the names of all that it held.
	Services []string `json:"services"`
}

// Kind implements Data.
func (GroupStarted) Kind() Kind { return v1("group", "started") }

// Kind implements Data.
func (GroupEntered) Kind() Kind { return v1("group", "entered") }

// Kind implements Data.
func (GroupAborted) Kind() Kind { return v1("group", "aborted") }

// Kind implements Data.
func (GroupEnded) Kind() Kind { return v1("group", "ended") }
