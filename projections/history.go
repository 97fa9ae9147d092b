package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Asked is one command of a service's past, with its outcome.
type Asked struct {
	// Command is its sequence among the commands. Group is its target where that is a group with the service as a member.
	Command uint64 `json:"command"`
	Group   string `json:"group,omitempty"`
	Verb    string `json:"verb"`
	// ID and Source are those that the client gave it.
	ID     string `json:"id,omitempty"`
	Source string `json:"source,omitempty"`
	// Actor is the user that sent it, where accounts are on.
	Actor string `json:"actor,omitempty"`
	// At is when the coordinator decided it. Sequence is where in the log that stands.
	At       time.Time `json:"at"`
	Sequence uint64    `json:"sequence"`
	Outcome  Outcome   `json:"outcome"`
	// Unchanged says that the command asked for nothing new. Queued says that it waits, or has waited until Begun.
	Unchanged bool      `json:"unchanged,omitzero"`
	Queued    bool      `json:"queued,omitzero"`
	Begun     time.Time `json:"begun,omitzero"`
	// Ended is when the command ended; absent while it is open. A rejected command ends when it is decided.
	Ended time.Time `json:"ended,omitzero"`
	// Code says why the command was rejected or failed, and Message explains that to an operator. Other is the command that superseded
	// it, that holds its service, or that it repeats.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Other   uint64 `json:"other,omitzero"`

	digest string
}

// History gathers the commands of one service from the events about commands and groups, which it takes in the order of the log.
// Events of a torn round may be among them: the log has the outcome of those commands again later.
type History struct {
	service events.ServiceID
	all     []*Asked
	latest  map[uint64]*Asked
	groups  map[uint64]bool
}

// NewHistory returns an empty history.
func NewHistory(service events.ServiceID) *History {
	return &History{service: service, latest: map[uint64]*Asked{}, groups: map[uint64]bool{}}
}

// Take takes the next event.
func (h *History) Take(r events.Record) {
	switch d := r.Data.(type) {
	case events.GroupStarted:
		if _, member := d.Services[h.service.Name]; member {
			h.groups[d.Command] = true
		}
	case events.CommandAccepted:
		a := h.decided(r, d.CommandIdentity, Accepted)
		a.Unchanged, a.Queued = d.Unchanged, d.Queued
	case events.CommandRejected:
		a := h.decided(r, d.CommandIdentity, Rejected)
		a.Ended, a.Code, a.Message, a.Other = r.Time, string(d.Code), d.Reason, d.Holder
	case events.CommandRepeated:
		a := h.decided(r, events.CommandIdentity{Sequence: d.Sequence}, Repeated)
		a.Ended, a.Other = r.Time, d.Of
	case events.CommandBegun:
		if a := h.latest[d.Sequence]; a != nil {
			a.Begun = r.Time
		}
	case events.CommandSucceeded:
		h.ended(r, d.Sequence, Succeeded)
	case events.CommandFailed:
		if a := h.ended(r, d.Sequence, Failed); a != nil {
			a.Code, a.Message = string(d.Reason), d.Message
		}
	case events.CommandSuperseded:
		if a := h.ended(r, d.Sequence, Superseded); a != nil {
			a.Other = d.By
		}
	}
}

// decided notes a command. An earlier command of the same sequence may be another one, if the inbox was created again since. It may also
// be the same command, which the coordinator decides again because its round was torn.
func (h *History) decided(r events.Record, d events.CommandIdentity, outcome Outcome) *Asked {
	a := &Asked{Command: d.Sequence, Verb: d.Verb, ID: d.ID, Source: d.Source, Actor: r.Cause.Actor, At: r.Time, Sequence: r.Sequence, Outcome: outcome, digest: d.Digest}
	if id, ok := r.Scope.Group(); ok {
		a.Group = id.String()
	}
	if before := h.latest[d.Sequence]; before != nil && before.digest == a.digest && before.Group == a.Group {
		*before = *a
		return before
	}
	h.all, h.latest[d.Sequence] = append(h.all, a), a
	return a
}

func (h *History) ended(r events.Record, sequence uint64, outcome Outcome) *Asked {
	a := h.latest[sequence]
	if a != nil {
		a.Outcome, a.Ended = outcome, r.Time
	}
	return a
}

// Commands returns the commands to the service and to groups with the service as a member, in the order in which they were decided.
func (h *History) Commands() []Asked {
	all := make([]Asked, 0, len(h.all))
	for _, a := range h.all {
		if a.Group == "" || h.groups[a.Command] {
			all = append(all, *a)
		}
	}
	slices.SortStableFunc(all, func(a, b Asked) int { return int(a.Sequence) - int(b.Sequence) }) //nolint:gosec // places in one log
	return all
}
