package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Asked is one command of a service's past, and what became of it.
type Asked struct {
	// Command is its sequence among the commands, Group the one that it was for where that has the service as a member.
	Command uint64 `json:"command"`
	Group   string `json:"group,omitempty"`
	Verb    string `json:"verb"`
	// ID and Source are those that its sender gave it.
	ID     string `json:"id,omitempty"`
	Source string `json:"source,omitempty"`
	// At is when it was decided, and Sequence where in the log.
	At       time.Time `json:"at"`
	Sequence uint64    `json:"sequence"`
	Outcome  Outcome   `json:"outcome"`
	// Unchanged says that all it asked for was desired before. Queued says that it waits, or has waited until Begun.
	Unchanged bool      `json:"unchanged,omitzero"`
	Queued    bool      `json:"queued,omitzero"`
	Begun     time.Time `json:"begun,omitzero"`
	// Ended is when it ended; not there where it goes on. What was refused ends as it is decided.
	Ended time.Time `json:"ended,omitzero"`
	// Code says why it was rejected, or failed, and Message says it for people. Other is the command that superseded it, holds its
	// service or is repeated by it.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Other   uint64 `json:"other,omitzero"`

	digest string
}

// History gathers the commands of one service from the events of commands and of groups, which it takes in the order of the log.
// Events of a round that was torn may be among them: what became of those commands is said again.
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

// decided notes a command. One of the same sequence may be another one, of an inbox that was made anew since, or the same that is decided
// again because its round was torn.
func (h *History) decided(r events.Record, d events.CommandIdentity, outcome Outcome) *Asked {
	a := &Asked{Command: d.Sequence, Verb: d.Verb, ID: d.ID, Source: d.Source, At: r.Time, Sequence: r.Sequence, Outcome: outcome, digest: d.Digest}
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

// Commands returns the commands to the service, and those to groups which it was a member of, in the order in which they were decided.
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
