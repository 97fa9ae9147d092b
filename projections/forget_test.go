package projections_test

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestCommandsAreForgottenOnceTheyHaveEnded checks that the state keeps the commands from a sequence on, and those that have not ended.
func TestCommandsAreForgottenOnceTheyHaveEnded(t *testing.T) {
	c := projections.NewCluster()
	sequence := uint64(0)
	apply := func(data events.Data) {
		t.Helper()
		sequence++
		if err := c.Apply(events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: data}, Sequence: sequence, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	accepted := func(sequence uint64, id string) events.Data {
		return events.CommandAccepted{CommandIdentity: events.CommandIdentity{Sequence: sequence, Verb: "scale", Source: "/me", ID: id}}
	}
	apply(revised(1))
	apply(accepted(1, "first"))
	apply(events.CommandSucceeded{Sequence: 1})
	apply(accepted(2, "second"))
	apply(events.CommandSucceeded{Sequence: 2})
	apply(accepted(3, "open"))
	const late = projections.KeptCommand
	for _, step := range []struct {
		kept  uint64
		after time.Duration
		ends  bool
		left  []uint64
	}{
		{0, 0, false, []uint64{1, 2, 3}},
		{2, 0, false, []uint64{2, 3}},
		{1, 0, false, []uint64{2, 3}},
		{4, 0, false, []uint64{3}},
		{5, 0, true, []uint64{3}}, // it ended just now: its client may still ask
		{6, late - time.Second, false, []uint64{3}},
		{7, late, false, nil},
	} {
		if step.ends {
			apply(events.CommandFailed{Sequence: 3})
		}
		c.Close(sequence, events.RoundClosed{Round: c.Round + 1, Epoch: 1, Now: at.Add(step.after), CommandsKept: step.kept}, events.Chain{})
		if len(c.Commands) != len(step.left) {
			t.Errorf("commands from %d on are kept: the state has %d", step.kept, len(c.Commands))
		}
		for _, sequence := range step.left {
			if c.Commands[sequence] == nil {
				t.Errorf("commands from %d on are kept: command %d is missing", step.kept, sequence)
			}
		}
	}
}

// TestAnotherInboxBeginsWithoutCommands creates the stream of commands again: open commands of the earlier stream must hold nothing.
func TestAnotherInboxBeginsWithoutCommands(t *testing.T) {
	c := projections.NewCluster()
	sequence := uint64(0)
	apply := func(scope events.Scope, data events.Data) {
		t.Helper()
		sequence++
		if err := c.Apply(events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: sequence, Time: at}); err != nil {
			t.Fatal(err)
		}
	}
	adopted := func(commands string) events.ClusterAdopted {
		return events.ClusterAdopted{Streams: map[string]string{"ROOKERY_LOG": "log", "ROOKERY_COMMANDS": commands}}
	}
	scope := events.ServiceScope(web)
	apply(events.ClusterScope, adopted("first"))
	apply(scope, revised(1))
	apply(scope, events.CommandAccepted{CommandIdentity: events.CommandIdentity{Sequence: 7, Verb: "scale"}})
	apply(events.ClusterScope, adopted("first"))
	if c.Services[web].Holder != 7 || len(c.Commands) != 1 || len(c.Open()) != 1 {
		t.Errorf("in the same inbox: %d commands, %d open, command %d holds the service", len(c.Commands), len(c.Open()), c.Services[web].Holder)
	}
	apply(events.ClusterScope, adopted("second"))
	if c.Services[web].Holder != 0 || len(c.Commands) != 0 || len(c.Open()) != 0 {
		t.Errorf("in another inbox: %d commands, %d open, command %d holds the service", len(c.Commands), len(c.Open()), c.Services[web].Holder)
	}
}

// TestANodeRemembersSinceWhenItsMachineIsIt lets a node join again, from the same machine and from another one.
func TestANodeRemembersSinceWhenItsMachineIsIt(t *testing.T) {
	c := projections.NewCluster()
	joined := func(epoch uint64, machine string) events.Data {
		j := events.NodeJoined{Epoch: epoch, Incarnation: machine}
		j.Machine = machine
		return j
	}
	for i, step := range []struct {
		joined events.Data
		since  uint64
	}{{joined(1, "a"), 1}, {joined(2, "a"), 1}, {joined(3, "b"), 3}, {joined(4, "b"), 3}, {joined(5, "a"), 5}} {
		r := events.Record{Event: events.Event{Scope: events.NodeScope("n"), Data: step.joined}, Sequence: uint64(i) + 1, Time: at}
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
		if got := c.Nodes["n"].MachineSince; got != step.since {
			t.Errorf("in epoch %d the node is on its machine since epoch %d, want %d", i+1, got, step.since)
		}
	}
}

// TestTheLastSnapshotsAreKept commits more snapshots of a service than the state keeps.
func TestTheLastSnapshotsAreKept(t *testing.T) {
	c := projections.NewCluster()
	for version := range uint64(events.KeptSnapshots + 2) {
		r := events.Record{Event: events.Event{Scope: events.ServiceScope(web), Data: events.SnapshotCommitted{Version: version + 1}}, Sequence: version + 1, Time: at}
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	kept := c.Services[web].Snapshots.Kept
	if len(kept) != events.KeptSnapshots || kept[0].Version != 3 || kept[len(kept)-1].Version != events.KeptSnapshots+2 {
		t.Errorf("kept snapshots: %+v", kept)
	}
}

// TestOrdersNameTheDecisionBeforeTheirCount checks that the order to forget an instance carries the decision, which nodes compare.
func TestOrdersNameTheDecisionBeforeTheirCount(t *testing.T) {
	c := projections.NewCluster()
	if o := c.ForgetOrder(7); o.Action != events.ActionForget || o.Decided != 7 || o.Counter != 0 {
		t.Errorf("the order to forget is %+v", o)
	}
	if o := c.OrphanOrder(&projections.Orphan{Decided: 8, Counter: 3}); o.Action != events.ActionStop || o.Decided != 8 || o.Counter != 3 {
		t.Errorf("the order to stop an orphan is %+v", o)
	}
}
