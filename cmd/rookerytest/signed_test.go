package rookerytest_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/cmd/rookerytest"
	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// folded folds the log as it is now.
func folded(t testing.TB, b *bus.JetStream, take func(events.Record)) *projections.Fold {
	t.Helper()
	state, err := b.State(t.Context(), bus.Log)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := b.Read(t.Context(), bus.Log, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Stop()
	fold := projections.NewFold()
	for fold.Last() < state.Last {
		records, err := fold.Take(<-reader.Messages())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			take(r)
		}
	}
	return fold
}

// forges appends a round as the coordinator that leads would write it next, with the service demo/<name>. Another round may come first; then it
// tries again.
func forges(t testing.TB, b *bus.JetStream, name string, signer *events.Signer, more ...events.Event) uint64 {
	t.Helper()
	spec := events.Spec{Image: "localhost/mallory:1"}
	id := events.ServiceID{Namespace: "demo", Name: name}
	for {
		c := folded(t, b, func(events.Record) {}).Cluster
		var records []events.Record
		for i, e := range append(more, events.Event{Scope: events.ServiceScope(id), Data: events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()}}) {
			records = append(records, events.Record{Event: e, Sequence: c.Sequence + uint64(i) + 1, Time: c.Now})
		}
		round, err := coordinator.Seal(records, events.RoundClosed{
			Round: c.Round + 1, Epoch: c.Epoch, Leader: c.Leader, Now: c.Now, Commands: c.CommandCursor, Statuses: c.StatusCursor, CommandsKept: c.CommandsKept, Policy: 1,
		}, c.LogID(), c.Sequence, c.Chain, signer)
		if err != nil {
			t.Fatal(err)
		}
		if last, err := b.Append(t.Context(), bus.Log, c.Sequence, round.Messages); err == nil {
			return last
		}
		if t.Context().Err() != nil {
			t.Fatal("the round is not stored")
		}
	}
}

// untilVoided waits until the log voids the message.
func untilVoided(t testing.TB, b *bus.JetStream, sequence uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settlesWithin)
	defer cancel()
	reader, err := b.Read(ctx, bus.Log, sequence)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Stop()
	for {
		select {
		case m := <-reader.Messages():
			if void, _, err := events.DecodeAs[events.RoundVoid](m); err == nil && void.From <= sequence && sequence <= void.To {
				return
			}
		case <-ctx.Done():
			t.Fatalf("message %d of the log is not voided", sequence)
		}
	}
}

// TestARoundThatNoCoordinatorHasSignedDoesNotCount forges rounds with the credentials of a coordinator, without its key. Where accounts are off such a
// round counts. An operator may not write into the log at all.
func TestARoundThatNoCoordinatorHasSignedDoesNotCount(t *testing.T) {
	t.Parallel()
	open := rookerytest.Start(t)
	forges(t, open.Bus(), "forged", nil)
	open.Until("the forged round counts where accounts are off", func() bool {
		return folded(t, open.Bus(), func(events.Record) {}).Cluster.Services[events.ServiceID{Namespace: "demo", Name: "forged"}] != nil
	})

	s := secureServer(t)
	s.as(0, "", secure.Operator, "bus", "init")
	first := s.coordinates()
	stolen := s.bus(secure.Coordinator)
	s.as(0, "", secure.Operator, "ensure", "demo/web", "--image", "localhost/web:1", "--scale", "0")
	other := events.SignerOf([32]byte{1})
	ours := events.Event{Scope: events.ClusterScope, Data: events.ClusterSigned{Key: other.Key()}}
	for _, forge := range []func() uint64{
		func() uint64 { return forges(t, stolen, "forged", nil) },
		func() uint64 { return forges(t, stolen, "forged", other) },
		func() uint64 { return forges(t, stolen, "forged", other, ours) },
	} {
		forged := forge()
		s.as(0, "", secure.Operator, "scale", "demo/web", "0") // the leader writes, and so finds it
		untilVoided(t, stolen, forged)
	}
	first.kill()
	s.coordinates() // it folds the log from its beginning
	s.as(0, "", secure.Operator, "scale", "demo/web", "0", "--busy", "queue")
	s.as(1, "demo/forged", secure.Operator, "explain", "demo/forged")
}

// TestTheKeyOfRoundsIsChanged changes the key with which coordinators sign rounds. Coordinators without it do not lead.
func TestTheKeyOfRoundsIsChanged(t *testing.T) {
	t.Parallel()
	s := secureServer(t)
	s.as(0, "", secure.Operator, "bus", "init")
	first := s.coordinates()
	operator := s.bus(secure.Operator)
	scale := func() { s.as(0, "", secure.Operator, "scale", "demo/web", "0", "--busy", "queue") }
	s.as(0, "", secure.Operator, "ensure", "demo/web", "--image", "localhost/web:1", "--scale", "0")
	before := folded(t, operator, func(events.Record) {}).Cluster.Key

	without := startProcess(t, "coordinator", "--context", s.context(secure.Coordinator))
	if !without.prints("its rounds are signed, and this coordinator has no key") {
		t.Errorf("a coordinator without a key says nothing: %s", without.output)
	}
	s.does("secure", "rotate", "rounds")
	first.kill()
	second := s.coordinates()
	scale()
	var keys []events.RoundKey
	after := folded(t, operator, func(r events.Record) {
		if d, signed := r.Data.(events.ClusterSigned); signed {
			keys = append(keys, d.Key)
		}
	}).Cluster.Key
	if len(keys) != 2 || keys[0] != before || keys[1] != after || before == after || before == "" {
		t.Errorf("the log was signed with %s, is signed with %s, and names %s", before, after, keys)
	}

	folder := filepath.Join(t.TempDir(), "backup")
	s.as(0, "", secure.Operator, "bus", "backup", folder)
	second.kill()
	s.as(1, "rounds of this log are signed with "+string(after), secure.Coordinator, "bus", "adopt")

	to := secureServer(t)
	keys = nil
	to.as(1, "Permissions Violation for Publish to \"rookery.log.", secure.Operator, "bus", "restore", folder, "--admission", filepath.Join(to.folder, secure.Admission))
	to.as(1, "nothing was restored: rounds of this log are signed with "+string(after), secure.Coordinator, "bus", "restore", folder)
	to.as(0, "adopted at sequence", secure.Coordinator, "bus", "restore", folder, "--admission", filepath.Join(to.folder, secure.Admission))
	third := to.coordinates()
	to.as(0, "", secure.Operator, "scale", "demo/web", "0", "--busy", "queue")
	to.does("secure", "rotate", "rounds") // of a log whose first key this folder never had
	to.does("secure", "rotate", "rounds")
	third.kill()
	to.coordinates()
	to.as(0, "", secure.Operator, "scale", "demo/web", "0", "--busy", "queue")
	if key := folded(t, to.bus(secure.Operator), func(events.Record) {}).Cluster.Key; key == after || key == "" {
		t.Errorf("with new keys the restored log is signed with %s", key)
	}
}
