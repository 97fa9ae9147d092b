package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// withdrawFor bounds how long orders to stop wait for the addresses to be withdrawn of what is to stop.
const withdrawFor = bus.LeaseAge / 4

// unhurried are the buckets that nothing waits for.
var unhurried = slices.DeleteFunc(slices.Clone(bus.Views), func(name string) bool { return name == bus.BucketEndpoints })

// publish sends out what the round changed: orders first, for nodes wait for them; then fates and views. Fates are sent
// whatever became of the orders, which the next leader mends. What is to stop is told so once its addresses are withdrawn.
func (l *leader) publish(records []events.Record) error {
	changes := views.Of(l.cluster, records)
	l.endpoints.Show(changes)
	if views.Withdraws(records) {
		if err := l.withdrawn(); err != nil {
			return err
		}
	}
	orders, err := l.ordersOf(records)
	if err != nil {
		return err
	}
	if len(orders) > 0 {
		err = l.putOrders(orders)
	}
	if err := errors.Join(err, l.sendFates(records)); err != nil {
		return err
	}
	l.views.Show(changes)
	return nil
}

// withdrawn waits until the endpoints are written, for a while: a bucket that cannot be written stops nothing from stopping. Where the
// leader is to end meanwhile it returns an error: the next one writes them before its orders.
func (l *leader) withdrawn() error {
	ctx, cancel := context.WithTimeout(l.ctx, withdrawFor)
	defer cancel()
	if err := l.endpoints.Written(ctx); err != nil && l.ctx.Err() == nil {
		l.Log.Warn("orders go out before "+bus.BucketEndpoints+" is written", "error", err)
	}
	return l.ctx.Err()
}

// sendFates tells whoever waits for a command what became of it. It goes to those who listen now; the state answers
// those who ask later.
func (l *leader) sendFates(records []events.Record) error {
	for _, r := range records {
		fate, ok := r.Data.(events.Fate)
		if !ok {
			continue
		}
		m, err := r.Message(l.cluster.LogID())
		if err != nil {
			return err
		}
		m.Subject = events.CommandFateSubject(fate.Fated(), r.Data.Kind().Name)
		if err := l.Bus.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// keep finds from time to time which commands are remembered no more, and lets go of what the stream still has of them.
func (l *leader) keep(now time.Time) error {
	if now.Sub(l.keptAt) < keepEvery {
		return nil
	}
	l.keptAt = now
	before := l.kept
	l.kept = forgettable(l.cluster, l.cursors.commands, now)
	call, cancel := context.WithTimeout(l.ctx, bus.CallTimeout)
	defer cancel()
	if l.kept > before {
		if err := l.Bus.Purge(call, bus.Commands, l.kept); err != nil {
			return err
		}
	}
	return l.makeRoom()
}

// forgettable is the sequence below which commands that have ended are forgotten. One that is open is remembered, whatever becomes of those
// after it.
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

// makeRoom lets go of the commands that are decided where the stream has much of them. What the log says of them stays, and their ids are
// known as long as before.
func (l *leader) makeRoom() error {
	l.taken = 0
	call, cancel := context.WithTimeout(l.ctx, bus.CallTimeout)
	defer cancel()
	state, err := l.Bus.State(call, bus.Commands)
	if err != nil || state.Bytes < keptBytes || state.First > l.cluster.CommandCursor {
		return err
	}
	return l.Bus.Purge(call, bus.Commands, l.cluster.CommandCursor+1)
}
