package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// MaxEvents is the most events in a round beside its closing message. The NATS server takes no larger atomic batch.
const MaxEvents = 999

// MaxPerInput is the most events that follow from one input, or from the due work of one unit. A round with less room takes
// no further inputs and leaves that room to Look.
const MaxPerInput = 2*events.MaxListed + 8

// Turn decides one round. It changes the state on the way, so that each decision sees those before it.
type Turn struct {
	Cluster *projections.Cluster
	Now     time.Time
	// Records are the events decided so far, in the order in which they go into the log.
	Records []events.Record
	// Working is the unit that the turn works on; empty before the first.
	Working events.Unit
	// Blamed are the units that made earlier rounds fail, with the reasons. Commands that need such a unit fail when Due runs
	// next.
	Blamed map[events.Unit]string
	// Running are the programs that take part, for commands that depend on them.
	Running Running
	// MaxUnits is the number of units of which the round may have events; 0 for any number.
	MaxUnits int

	// most is how many events the round may hold, and full says that the next events do not fit.
	most  int
	full  bool
	spans []span
	work  *WorkQueue
	cause events.Cause
}

// NewTurn begins a round on a cluster whose last round is closed. Now must not be before the cluster's. The records of the
// former turn become invalid, because the new turn reuses their buffer.
func NewTurn(c *projections.Cluster, work *WorkQueue, now time.Time) *Turn {
	if work.began.IsZero() {
		work.began = now
	}
	work.cut = false
	return &Turn{Cluster: c, Now: now, most: MaxEvents, work: work, Records: work.records[:0]}
}

// Fill runs decide until it returns or the round is full, and reports whether it returned. The events so far stay in the round,
// and the next round decides the rest. That round starts afresh, because decisions depend on the state alone. A full round
// unwinds to here by a panic of its own, as encoding/json does with errors; every other panic passes.
func (t *Turn) Fill(decide func()) (whole bool) {
	defer func() {
		if t.full {
			_ = recover()
			t.full, t.work.cut, t.work.unheard = false, true, true
		}
	}()
	decide()
	return true
}

// reserve ends the round if it has no room for this many more events of the present unit, so that events that belong together
// are in one round.
func (t *Turn) reserve(count int) {
	if t.fits(count) {
		return
	}
	t.full = true
	panic("the round is full")
}

func (t *Turn) fits(count int) bool {
	others := len(t.spans) > 0 && t.spans[len(t.spans)-1].unit != t.Working
	spent := t.MaxUnits > 0 && len(t.spans) >= t.MaxUnits && others
	return count == 0 || (!spent && t.most-len(t.Records) >= count)
}

// emit adds events to the round, all of them or none, and applies them.
func (t *Turn) emit(scope events.Scope, data ...events.Data) {
	t.reserve(len(data))
	for _, d := range data {
		t.record(scope, d)
	}
}

func (t *Turn) record(scope events.Scope, data events.Data) {
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
		t.work.released(held)
	}
	if last := len(t.spans) - 1; last < 0 || t.spans[last].unit != t.Working {
		t.spans = append(t.spans, span{t.Working, len(t.Records)})
	}
	t.Records = append(t.Records, r)
	t.work.records = t.Records
	t.work.note(r, t.reconciles)
}

// Renewed records that statuses come from another stream now.
func (t *Turn) Renewed(renewed events.ClusterRenewed) {
	t.Working, t.cause = events.Unit{}, events.Cause{}
	t.emit(events.ClusterScope, renewed)
}

// Signs records that rounds are signed with the key from here on; "" for a coordinator that has none.
func (t *Turn) Signs(key events.RoundKey) {
	if key == "" || key == t.Cluster.Key || !t.Cluster.Accounts || t.Cluster.Level < events.LevelSignatures {
		return
	}
	t.Working, t.cause = events.Unit{}, events.Cause{}
	t.emit(events.ClusterScope, events.ClusterSigned{Key: key})
}

// Found records which streams belong to the cluster, and from where the leader continues to read its inboxes. If an inbox was
// replaced, its commands end here: a client could not learn their outcome by their sequence later. A new cluster begins at the level.
// Accounts need the level that has them, and what comes with them. Without accounts, coordinators need no key.
func (t *Turn) Found(adopted events.ClusterAdopted, level events.Level) {
	t.Working = events.Unit{}
	if adopted.Streams[commandsStream] != t.Cluster.Streams[commandsStream] {
		for _, sequence := range slices.Sorted(maps.Keys(t.Cluster.Open())) {
			cmd := t.Cluster.Commands[sequence]
			t.cause = cmd.Cause
			message := "ROOKERY_COMMANDS was created again; the target that the command set stays"
			if g := t.Cluster.Groups[sequence]; g != nil {
				t.dissolve(g, events.GroupGoneBack, nil)
				message = "ROOKERY_COMMANDS was created again; all services of the group return to what they were before"
			}
			t.emit(cmd.Scope(), events.CommandFailed{Sequence: sequence, Reason: events.ReasonInboxLost, Message: message})
		}
	}
	t.cause = events.Cause{}
	isNew, least := t.Cluster.Round == 0, t.Cluster.Level
	if isNew {
		least = max(least, level)
	}
	if adopted.Accounts && (isNew || !t.Cluster.Accounts) {
		least = max(least, events.LevelSignatures)
	}
	if least > t.Cluster.Level {
		t.emit(events.ClusterScope, events.ClusterLevel{Level: least})
	}
	t.emit(events.ClusterScope, adopted)
	if !adopted.Accounts && t.Cluster.Key != "" {
		t.emit(events.ClusterScope, events.ClusterSigned{})
	}
	if isNew { // a log with rounds keeps its policy
		t.emit(events.ClusterScope, events.PolicyChanged{Policy: events.DefaultPolicy()})
	}
}
