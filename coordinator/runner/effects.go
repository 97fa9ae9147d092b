package runner

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// withdrawFor bounds how long orders to stop wait until the addresses of their instances are withdrawn.
const withdrawFor = bus.LeaseAge / 4

// unhurried are the buckets that nothing waits for.
var unhurried = slices.DeleteFunc(slices.Clone(bus.Views), func(name string) bool { return name == bus.BucketEndpoints })

// publish sends what the round changed: orders first, as nodes wait for them, then outcomes and views. Outcomes are sent even if the orders
// fail, which the next leader repairs. An order to stop goes out after the addresses of its instance are withdrawn. Until all orders are compared,
// any may be one to stop, which the leader before has decided.
func (l *leader) publish(records []events.Record) error {
	changes := views.Of(l.cluster, records)
	l.endpoints.Show(changes)
	if l.comparison != nil || views.Withdraws(records) {
		if err := l.withdrawn(); err != nil {
			return err
		}
	}
	orders, err := l.ordersOf(records)
	if err != nil {
		return err
	}
	l.comparison.note(orders)
	if len(orders) > 0 {
		err = l.putOrders(orders)
	}
	if err := errors.Join(err, l.sendOutcomes(records)); err != nil {
		return err
	}
	if l.views == nil {
		l.gathered.Merge(changes)
	} else {
		l.views.Show(changes)
	}
	return nil
}

// writeEndpoints starts to write the endpoints with those of all services.
func (l *leader) writeEndpoints() {
	l.endpoints = views.Start(l.ctx, l.Bus, l.Log, []string{bus.BucketEndpoints}, views.Reached(l.cluster))
}

// gatherViews begins to gather all views of the state.
func (l *leader) gatherViews() {
	l.views = nil
	l.gathered, l.ungathered = views.AllOfNodes(l.cluster), slices.SortedFunc(maps.Keys(l.cluster.Services), events.ServiceID.Compare)
}

// rewrite writes all views again whose writer has ended, and asks the other writers to check their buckets. The leader asks, so that a check
// never begins at the moment at which its term ends.
func (l *leader) rewrite() {
	if l.endpoints.Err() != nil {
		l.writeEndpoints()
	} else {
		l.endpoints.Check()
	}
	switch {
	case l.views == nil:
	case l.views.Err() != nil:
		l.gatherViews()
	default:
		l.views.Check()
	}
}

// gatheredAtOnce is of about how many slots the views are gathered between two rounds.
const gatheredAtOnce = 1000

// gather goes on for a while to gather all views of the state, which the leader does between the rounds. Once it has all, it begins to write
// them.
func (l *leader) gather() {
	if l.views != nil {
		return
	}
	for slots := 0; slots < gatheredAtOnce && len(l.ungathered) > 0; l.ungathered = l.ungathered[1:] {
		id := l.ungathered[0]
		if s := l.cluster.Services[id]; s != nil {
			slots += len(s.Slots)
			l.gathered.Merge(views.AllOfService(l.cluster, id))
		}
	}
	if len(l.ungathered) == 0 {
		l.gathered.Sequence = l.cluster.Sequence
		l.views = views.Start(l.ctx, l.Bus, l.Log, unhurried, l.gathered)
		l.gathered = views.Changes{}
	}
}

// withdrawn waits until the endpoints are written, but only for withdrawFor: a bucket that cannot be written must not keep instances from
// stopping. It tries again at once with another writer if the writer has ended. If the leader ends meanwhile, withdrawn returns an error: the
// next leader writes the endpoints before its orders.
func (l *leader) withdrawn() error {
	ctx, cancel := context.WithTimeout(l.ctx, withdrawFor)
	defer cancel()
	err := l.endpoints.Written(ctx)
	if l.endpoints.Err() != nil && l.ctx.Err() == nil {
		l.writeEndpoints()
		err = l.endpoints.Written(ctx)
	}
	if err != nil && l.ctx.Err() == nil {
		l.Log.Warn("orders go out before "+bus.BucketEndpoints+" is written", "error", err)
	}
	return l.ctx.Err()
}

// sendOutcomes sends the outcomes of commands to the clients that wait for them. The messages reach clients that listen now; later questions
// are answered from the state.
func (l *leader) sendOutcomes(records []events.Record) error {
	for _, r := range records {
		outcome, ok := r.Data.(events.Outcome)
		if !ok {
			continue
		}
		m, err := r.Message(l.cluster.LogID())
		if err != nil {
			return err
		}
		subjects := []string{events.CommandOutcomeSubject(outcome.CommandSequence(), r.Data.Kind().Name)}
		if actor := events.ActorOf(m); actor != "" {
			subjects = append(subjects, events.FateSubject(actor, outcome.CommandSequence()))
		}
		for _, m.Subject = range subjects {
			if err := l.Bus.Send(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep finds from time to time which commands the coordinator forgets, and purges them from the stream.
func (l *leader) keep(now time.Time) error {
	if now.Sub(l.keptAt) < keepEvery {
		return nil
	}
	l.keptAt = now
	before := l.kept
	l.kept = forgettable(l.cluster, l.cursors.commands, now)
	if l.kept > before {
		if err := l.purge(l.kept); err != nil {
			return err
		}
	}
	return l.makeRoom()
}

// purge removes the commands below the sequence. Those of a stream that does not answer are removed another time.
func (l *leader) purge(below uint64) error {
	call, cancel := context.WithTimeout(l.ctx, lookFor)
	defer cancel()
	err := l.Bus.Purge(call, bus.Commands, below)
	if passing(err) {
		l.Log.Warn("cannot purge decided commands; trying again", "error", err, "advice", advice(err))
		return nil
	}
	return err
}

// forgettable returns the sequence below which ended commands are forgotten. An open command is remembered, whatever happens to later ones.
func forgettable(c *projections.Cluster, cursor uint64, now time.Time) uint64 {
	below := cursor + 1
	for sequence, cmd := range c.Commands {
		if now.Sub(cmd.Received) < projections.KeptCommand {
			below = min(below, sequence)
		}
	}
	if cursor >= keptCommands {
		below = max(below, cursor+1-keptCommands)
	}
	return max(below, c.CommandsKept)
}

// makeRoom purges decided commands when the stream holds many of them. The log keeps its events about them, and their ids stay known as
// long as before.
func (l *leader) makeRoom() error {
	l.taken = 0
	call, cancel := context.WithTimeout(l.ctx, lookFor)
	defer cancel()
	state, err := l.Bus.State(call, bus.Commands)
	if passing(err) {
		return nil // it looks again soon
	}
	if err != nil || state.Bytes < keptBytes || state.First > l.cluster.CommandCursor {
		return err
	}
	return l.purge(l.cluster.CommandCursor + 1)
}
