package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// MaxEvents is how many events a round may hold beside its closing message: what the server takes as one atomic batch.
const MaxEvents = 999

// MaxPerInput is the most events that one input leads to. A turn with less room takes no more inputs.
const MaxPerInput = 2*events.MaxListed + 8

// Turn decides one round. It changes the state as it goes, so that each decision sees those before it.
type Turn struct {
	Cluster *projections.Cluster
	Now     time.Time
	// Records are the events decided so far, in the order in which they go into the log.
	Records []events.Record
	// Working is the unit that is worked on; empty before the first.
	Working events.Unit
	// Blamed are the units that rounds before failed on, and why. Commands that need one of them fail with what is due next.
	Blamed map[events.Unit]string
	// MaxUnits is of how many units the round may have events; 0 for any number.
	MaxUnits int

	spans  []span
	agenda *Agenda
	cause  events.Cause
}

// NewTurn begins a round on a cluster whose last round is closed. Now must not be before the cluster's. The records of the
// agenda's turn before are of no use any more: their place is taken.
func NewTurn(c *projections.Cluster, agenda *Agenda, now time.Time) *Turn {
	if agenda.began.IsZero() {
		agenda.began = now
	}
	return &Turn{Cluster: c, Now: now, agenda: agenda, Records: agenda.records[:0]}
}

// Room returns how many events of the unit at work still fit into the round.
func (t *Turn) Room() int {
	if t.spent(t.Working) {
		return 0
	}
	return MaxEvents - len(t.Records)
}

// Takes reports whether the round has room for any one more input.
func (t *Turn) Takes() bool {
	return (t.MaxUnits == 0 || len(t.spans) < t.MaxUnits) && MaxEvents-len(t.Records) >= MaxPerInput
}

// emit adds an event to the round and applies it.
func (t *Turn) emit(scope events.Scope, data events.Data) {
	r := events.Record{
		Event:    events.Event{Scope: scope, Data: data, Cause: t.cause},
		Sequence: t.Cluster.Sequence + uint64(len(t.Records)) + 1,
		Time:     t.Now,
	}
	held := t.Cluster.Held()
	if err := t.Cluster.Apply(r); err != nil {
		panic(err)
	}
	if held != t.Cluster.Held() {
		t.agenda.released(held)
	}
	if last := len(t.spans) - 1; last < 0 || t.spans[last].unit != t.Working {
		t.spans = append(t.spans, span{t.Working, len(t.Records)})
	}
	t.Records = append(t.Records, r)
	t.agenda.records = t.Records
	t.agenda.note(r, t.reconciles)
}

// Renewed records that statuses come from another stream now.
func (t *Turn) Renewed(renewed events.ClusterRenewed) {
	t.Working, t.cause = events.Unit{}, events.Cause{}
	t.emit(events.ClusterScope, renewed)
}

// Found records which streams are the cluster's, and where its inboxes are read on from. Commands of an inbox that is
// no more end here: nobody could learn their end by their sequence later.
func (t *Turn) Found(adopted events.ClusterAdopted) {
	t.Working = events.Unit{}
	if adopted.Streams[commandsStream] != t.Cluster.Streams[commandsStream] {
		for _, sequence := range slices.Sorted(maps.Keys(t.Cluster.Open())) {
			cmd := t.Cluster.Commands[sequence]
			t.cause = cmd.Cause
			message := "ROOKERY_COMMANDS was made again; what was asked stays desired"
			if g := t.Cluster.Groups[sequence]; g != nil {
				t.dissolve(g, events.GroupGoneBack, nil)
				message = "ROOKERY_COMMANDS was made again; all services of the group are asked to be what they were before"
			}
			t.emit(cmd.Scope(), events.CommandFailed{Sequence: sequence, Reason: events.ReasonInboxLost, Message: message})
		}
	}
	t.cause = events.Cause{}
	t.emit(events.ClusterScope, adopted)
	if t.Cluster.Round == 0 { // a log that has rounds keeps its policy
		t.emit(events.ClusterScope, events.PolicyChanged{Policy: events.DefaultPolicy()})
	}
}
