package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// fold returns the state that the log holds now. It reads the whole log instead of a snapshot, because callers want to know whether the log
// is whole. The program must work at the level of the log.
func fold(ctx context.Context, b bus.Bus, name string, program events.Program, signers Signers) (*projections.Fold, error) {
	c := New(Config{Bus: b, Name: name, Program: program, Signers: signers, Log: slog.New(slog.DiscardHandler), SnapshotEvery: snapshots.None})
	c.verifies = true
	f, err := c.follow(ctx)
	if err != nil {
		return nil, err
	}
	defer f.stop()
	return f.fold, f.catchUp(ctx)
}

// CheckIdentity returns ErrIdentity, with what was found and what to do, unless every stream is the one that the log
// knows and the orders come from it. A leader may go on with both meanwhile.
func CheckIdentity(ctx context.Context, b bus.Bus) error {
	f, err := fold(ctx, b, "check", events.Program{Levels: events.OwnLevels}, nil)
	if err != nil || !f.Cluster.Founded() {
		return err
	}
	states, err := States(ctx, b)
	if err != nil {
		return err
	}
	if err := Identify(f.Cluster, states); err != nil {
		return err
	}
	if err := checkOrdersMark(ctx, b, f.Cluster, f.Cluster.Epoch+1); !errors.Is(err, errLost) {
		return err
	}
	return nil
}

// checkOrdersMark returns ErrIdentity if the orders came from rounds that the log does not have. It returns errLost if the leader of a
// later epoch has written them.
func checkOrdersMark(ctx context.Context, b bus.Bus, c *projections.Cluster, epoch uint64) error {
	standing, err := b.Latest(ctx, bus.Orders, events.OrdersEpochSubject)
	if err != nil || len(standing) == 0 {
		return err
	}
	mark, _, err := events.DecodeAs[events.OrdersEpoch](standing[0])
	if err != nil {
		return err
	}
	switch {
	case mark.Log != c.LogID() || mark.Closed > c.Sequence:
	case mark.Epoch > epoch:
		return fmt.Errorf("%w: it has written orders in epoch %d", errLost, mark.Epoch)
	default:
		return nil
	}
	state, err := b.State(ctx, bus.Log)
	if err != nil {
		return err
	}
	if mark.Log == c.LogID() && mark.Closed <= state.Last {
		return fmt.Errorf("%w: it has closed a round while this one took over", errLost)
	}
	return fmt.Errorf("%w: the orders follow the log up to sequence %d of %q, and %s of %q ends at %d: it was restored from"+
		" an older backup; if you restored it on purpose, run `rookery bus adopt`",
		ErrIdentity, mark.Closed, mark.Log, bus.Log, c.LogID(), c.Sequence)
}

// Adopt records in the log, as one fenced round, that the present streams are the cluster's. It returns a description of what it did. If a
// stream was created again, its inbox is read from the beginning. A log whose rounds are signed needs signers. They may be others than before: then
// rounds are signed with the key of the first one from here on.
//
// It holds the lease meanwhile, and waits for it: a leader that has not noticed yet that the log was restored could append behind the adoption, if
// that ends where its own log did.
func Adopt(ctx context.Context, b bus.Bus, name string, program events.Program, signers Signers) (string, error) {
	release, err := HoldLease(ctx, b, name, ceasesWithin)
	if errors.Is(err, errLeads) {
		err = fmt.Errorf("%w, and has found no stream to be another than the log knows: stop the coordinators if you want to adopt the streams all the same", err)
	}
	if err != nil {
		return "", err
	}
	defer release()
	return adopt(ctx, b, name, program, signers)
}

// ceasesWithin is how long a leader may take to notice that a stream is not the one that the log knows.
const ceasesWithin = 3 * checkEvery

// errLeads occurs when the lease does not get free.
var errLeads = errors.New("a coordinator leads")

// HoldLease waits until no coordinator leads, and holds the lease until release is called.
func HoldLease(ctx context.Context, b bus.Bus, name string, within time.Duration) (release func(), err error) {
	c := New(Config{Bus: b, Name: name, Log: slog.New(slog.DiscardHandler)})
	wait, cancel := context.WithTimeoutCause(ctx, within, errLeads)
	defer cancel()
	again := time.NewTicker(claimEvery)
	defer again.Stop()
	for {
		ls, _, err := c.claim(wait)
		switch {
		case ls != nil:
			stop := ls.keep(ctx)
			return func() {
				stop()
				ls.release(ctx)
			}, nil
		case err != nil && wait.Err() == nil:
			return nil, err
		}
		select {
		case <-again.C:
		case <-wait.Done():
			return nil, context.Cause(wait)
		}
	}
}

func adopt(ctx context.Context, b bus.Bus, name string, program events.Program, signers Signers) (string, error) {
	f, err := fold(ctx, b, name, program, signers)
	if err != nil {
		return "", err
	}
	c := f.Cluster
	if _, _, open := f.Open(); open || !c.Founded() {
		return "", errors.New("the log has no cluster, or ends with messages that no round closes: start a coordinator once, then adopt")
	}
	states, err := States(ctx, b)
	if err != nil {
		return "", err
	}
	adopted := Adoption(states)
	adopted.Reason = "an operator ran bus adopt"
	if keeps(c, states, bus.Commands, c.CommandCursor) {
		adopted.Commands = c.CommandCursor
	}
	if keeps(c, states, bus.Statuses, c.StatusCursor) {
		adopted.Statuses = c.StatusCursor
	}
	key := c.Key
	if key != "" && signers.signs(key) == nil && (signers.First() == nil || !adopted.Accounts) {
		return "", fmt.Errorf("rounds of this log are signed with %s: name the folder with its key with --admission", key)
	}
	now := newClock(time.Now()).now()
	if now.Before(c.Now) {
		now = c.Now
	}
	turn := coordinator.NewTurn(c, coordinator.NewWorkQueue(c), now)
	if !turn.Fill(func() { turn.Found(*adopted, 0); turn.Signs(signers.root()) }) {
		return "", fmt.Errorf("more commands are open than one round can end, which holds %d events", coordinator.MaxEvents)
	}
	round, err := Seal(turn.Records, events.RoundClosed{
		Round: c.Round + 1, Epoch: c.Epoch + 1, Leader: name, Now: now,
		Commands: adopted.Commands, Statuses: adopted.Statuses, CommandsKept: c.CommandsKept, Policy: policyVersion,
	}, c.LogID(), f.Last(), c.Chain, cmp.Or(signers.signs(key), signers.signs(c.Key)))
	if err != nil {
		return "", err
	}
	last, err := b.Append(ctx, bus.Log, f.Last(), round.Messages)
	if err != nil {
		return "", err
	}
	if err := markOrders(ctx, b, c.LogID(), name, round, last); err != nil {
		return "", err
	}
	return fmt.Sprintf("adopted at sequence %d of %s: commands are read from %d, statuses from %d, and every node lists what it has",
		last, bus.Log, adopted.Commands+1, adopted.Statuses+1), nil
}

// keeps reports whether the stream is the one that the log knows and holds what was decided of it.
func keeps(c *projections.Cluster, states map[bus.Stream]bus.State, stream bus.Stream, cursor uint64) bool {
	return states[stream].Identity == c.Streams[string(stream)] && states[stream].Last >= cursor
}

// markOrders marks the orders as following the adopted log from here on.
func markOrders(ctx context.Context, b bus.Bus, logID, name string, round Round, closed uint64) error {
	state, err := b.State(ctx, bus.Orders)
	if err != nil {
		return err
	}
	mark, err := events.Encode(events.OrdersEpochSubject, events.OrdersEpoch{
		Log: logID, Epoch: round.Closed.Epoch, Leader: name, Closed: closed, Chain: round.Chain,
	}, events.Attributes{ID: markID(round.Closed.Epoch, state.Last), Source: "/rookery/" + logID, Time: round.Closed.Now})
	if err != nil {
		return err
	}
	_, err = b.Append(ctx, bus.Orders, state.Last, []events.Message{mark})
	return err
}
