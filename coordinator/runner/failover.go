package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// leader is one term of leading. Only one goroutine touches it.
type leader struct {
	*Coordinator
	ctx   context.Context
	lease *lease
	clock clock
	epoch uint64
	work  *coordinator.WorkQueue
	// blamed are the units that rounds failed on since the last stored round, and why. retries says that skipped units must be
	// tried again: another coordinator may have failed on them.
	blamed  map[events.Unit]string
	retries bool
	// maxUnits is of how many units a round may have events, after a round that was too large; 0 for any number.
	maxUnits int
	// endpoints are written apart from the other views, as orders wait for them.
	endpoints *views.Writer
	// views is nil until all views are gathered. ungathered are the services whose views gathered has not yet.
	views      *views.Writer
	gathered   views.Changes
	ungathered []events.ServiceID
	keeper     *snapshots.Keeper

	commands, statuses bus.Reader
	// waiting are inputs that were read and not yet decided.
	waiting     inputs
	waitingSize int // of their bodies in bytes
	// pulses counts the pulses of the loop.
	pulses uint64
	// cursors are the sequences of the last inputs that were decided.
	cursors struct{ commands, statuses uint64 }
	// kept is the lowest sequence of the remembered commands, as of keptAt. taken is how many bytes of commands have arrived since the
	// leader last checked how much the stream holds.
	kept   uint64
	keptAt time.Time
	taken  int
	// recoverTo is the last command that waited when this leader took over a recovering cluster.
	recoverTo uint64
	// hearTo is the last status that waited when the leader took over, and hearBy is the latest time until which the leader catches up on
	// it.
	hearTo uint64
	hearBy time.Time
	// key is the one with which the log demands the next round to be signed.
	key events.RoundKey
	// orders is the last sequence in ROOKERY_ORDERS, closed that of the last closed round in ROOKERY_LOG.
	orders, closed uint64

	heartbeats heartbeats
	// stopHeartbeats ends the answering of heartbeats, once that has begun.
	stopHeartbeats func()
	// comparison is nil once every order was compared.
	comparison       *comparison
	returned, silent []string
	lastTick         time.Time
	checkedAt        time.Time
	// lookedAt is when the streams last had the identities that the log knows.
	lookedAt time.Time
	// latest is the last status that was decided in this term, and known the one at the last look at the streams: the stream had it then.
	latest, known storedStatus
	// sweptAt is when objects that no snapshot names were last looked for, and unnamed are those found.
	unnamed []bus.Object
	sweptAt time.Time
	// roomAt is when the leader last checked how full the account is.
	roomAt time.Time
	// inherited are the services with operations of earlier leaders that this one has not taken over yet.
	inherited []events.ServiceID
	founding  *events.ClusterAdopted
	renewal   *events.ClusterRenewed
	// rejoins are the node epochs that end while the cluster recovers; nil until the leader has caught up.
	rejoins map[string]uint64
}

// hearFor is how long a new leader waits for the next of the statuses that arrived during the failover. They arrive at once, unless the
// stream has dropped them since.
const hearFor = 3 * time.Second

// catchingUp reports whether the leader is still catching up on statuses that arrived during the failover. Until then it only decides inputs.
// Otherwise an instance that has failed would still count as serving, and its time of serving as long enough.
func (l *leader) catchingUp() bool {
	return l.cursors.statuses < l.hearTo && time.Now().Before(l.hearBy)
}

// failOver completes the log, and checks that every stream is the one that the log knows.
func (c *Coordinator) failOver(ctx context.Context, f *follower, l *lease) (*leader, error) {
	if err := f.catchUp(ctx); err != nil {
		return nil, err
	}
	epoch := f.fold.Cluster.Epoch + 1
	if err := c.closeTorn(ctx, f, epoch); err != nil {
		return nil, err
	}
	f.stop() // from here on, this leader writes the log itself
	c.cluster, c.leading = f.fold.Cluster, true
	lead := &leader{
		Coordinator: c, ctx: ctx, lease: l, clock: newClock(c.Now()), epoch: epoch,
		work: coordinator.NewWorkQueue(c.cluster), heartbeats: newHeartbeats(), stopHeartbeats: func() {},
		closed: c.cluster.Sequence, key: c.cluster.Key, lastTick: time.Now(), lookedAt: time.Now(), blamed: map[events.Unit]string{}, retries: len(c.cluster.Shunned) > 0,
		inherited: slices.SortedFunc(maps.Keys(c.cluster.Operating()), events.ServiceID.Compare),
	}
	lead.heartbeats.assume(c.cluster, lead.lastTick)
	if err := lead.checkStreams(); err != nil {
		return nil, err
	}
	c.list, c.lists = uint64(lead.clock.now().UnixNano()), map[string]uint64{}
	return lead, nil
}

// begin completes what the leader before may have left undone between its last append and the effects of that round, which was folded last.
// Then it opens the inboxes.
func (l *leader) begin(f *follower) error {
	if err := l.takeOrders(); err != nil {
		return err
	}
	if err := l.repeatOutcomes(f); err != nil {
		return err
	}
	if err := l.alive(); err != nil {
		return err
	}
	return l.openInboxes()
}

// repeatOutcomes sends the outcomes of the last round again. A fold that began with a snapshot at the end of the log has not read that round.
func (l *leader) repeatOutcomes(f *follower) error {
	round := f.round
	if round == nil && f.closed > 0 {
		var err error
		if round, err = snapshots.LastRound(l.ctx, l.Bus, f.closed); err != nil {
			return err
		}
	}
	return l.sendOutcomes(round)
}

// closeTorn voids the messages after the last closed round: the beginning of a round whose end was never stored, or messages that others
// have written there.
func (c *Coordinator) closeTorn(ctx context.Context, f *follower, epoch uint64) error {
	from, to, open := f.fold.Open()
	if !open {
		return nil
	}
	closed, err := c.followed(ctx, f.fold.Cluster.LogID())
	if err != nil {
		return err
	}
	if f.fold.Ends(closed) {
		return fmt.Errorf("%w: orders were written for the round that ends at %d, and this copy of the log has no signature of that", projections.ErrChain, closed)
	}
	record := events.Record{
		Event:    events.Event{Scope: events.ClusterScope, Data: events.RoundVoid{From: from, To: to, Epoch: epoch, Leader: c.Name}},
		Sequence: to + 1, Time: newClock(c.Now()).now(),
	}
	m, err := record.Message(f.fold.Cluster.LogID())
	if err != nil {
		return err
	}
	c.Signers.signs(f.fold.Cluster.Key).Sign(m, f.fold.Cluster.Chain.Extend(m))
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	if _, err := c.Bus.Append(call, bus.Log, to, []events.Message{m}); err != nil {
		return err
	}
	c.Log.Warn("voided messages that no round closes", "from", from, "to", to)
	return f.catchUp(ctx)
}

// followed returns the end of the last round for which orders of this log are known to have been written; 0 for none. A log whose first round does not
// count has no identity yet. Orders that are lost or do not read are found later.
func (c *Coordinator) followed(ctx context.Context, logID string) (uint64, error) {
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	standing, err := c.Bus.Latest(call, bus.Orders, events.OrdersEpochSubject)
	if errors.Is(err, bus.ErrNoStream) {
		return 0, nil
	}
	if err != nil || len(standing) == 0 {
		return 0, err
	}
	mark, _, err := events.DecodeAs[events.OrdersEpoch](standing[0])
	if err != nil || (logID != "" && mark.Log != logID) {
		return 0, nil
	}
	return mark.Closed, nil
}

// checkStreams compares every stream with what the log recorded, and founds a cluster that has no record.
func (l *leader) checkStreams() error {
	var states map[bus.Stream]bus.State
	err := l.patiently(l.ctx, func(ctx context.Context) (err error) {
		if err = l.Bus.Renew(ctx); err == nil {
			states, err = States(ctx, l.Bus)
		}
		return err
	})
	if err != nil {
		return err
	}
	l.cursors.commands, l.cursors.statuses = l.cluster.CommandCursor, l.cluster.StatusCursor
	l.kept = l.cluster.CommandsKept
	if waiting := states[bus.Commands]; waiting.First <= waiting.Last {
		l.recoverTo = waiting.Last
	}
	if waiting := states[bus.Statuses]; waiting.First <= waiting.Last {
		l.hearTo = waiting.Last
	}
	if !l.cluster.Founded() {
		l.founding = Adoption(states)
		return nil
	}
	if err := Identify(l.cluster, states); err != nil {
		return err
	}
	var lost bool
	err = l.patiently(l.ctx, func(ctx context.Context) (err error) {
		lost, err = l.remade(ctx, states[bus.Statuses])
		return err
	})
	if lost {
		l.Log.Info("statuses come from a new stream; nodes are asked for all they have",
			"reason", string(bus.Statuses)+" was lost or deleted: it is only in the server's memory")
		l.renewal, l.cursors.statuses = &events.ClusterRenewed{Identity: states[bus.Statuses].Identity}, 0
	}
	return err
}

// storedStatus is a message of the stream of statuses, and when the server stored it; zero for none.
type storedStatus struct {
	sequence uint64
	at       time.Time
}

// isBefore reports whether the stream began after the message was stored, although it should have it: then it is a later one.
func (s storedStatus) isBefore(now bus.State) bool {
	return s.sequence > 0 && now.First <= s.sequence && now.Last > 0 && now.Since.After(s.at)
}

// remade reports whether the stream of statuses is another one than the stream that was read up to the cursor. When all servers end at once,
// they create a stream in memory again, empty and with the same identity. By the next look, nodes may have sent more than the stream had before.
// A server that was cut off says for a while that the stream ends earlier, as a new one would. So the last message is read as well: what was
// decided once must not be read again.
func (l *leader) remade(ctx context.Context, s bus.State) (bool, error) {
	if s.Identity != l.cluster.Streams[string(bus.Statuses)] {
		return true, nil
	}
	if l.known.isBefore(s) {
		return true, nil
	}
	if s.Last >= l.cursors.statuses {
		return false, nil
	}
	m, _, err := l.Bus.Last(ctx, bus.Statuses)
	return err == nil && m.Sequence < l.cursors.statuses, err
}

// States returns the state of every stream that has an identity in the log.
func States(ctx context.Context, b bus.Bus) (map[bus.Stream]bus.State, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	identified := []bus.Stream{bus.Commands, bus.Statuses, bus.Log, bus.Orders}
	states := make(map[bus.Stream]bus.State, len(identified))
	for _, stream := range identified {
		state, err := b.State(ctx, stream)
		if errors.Is(err, bus.ErrNoStream) {
			return nil, fmt.Errorf("%w: %s is missing: it was deleted; inspect the bus with `rookery bus check`, and once"+
				" you know why, run `rookery bus adopt`", bus.ErrNoStream, stream)
		}
		if err != nil {
			return nil, err
		}
		states[stream] = state
	}
	return states, nil
}

// Adoption is the event that makes these streams the cluster's. The inboxes are read from their beginning.
func Adoption(states map[bus.Stream]bus.State) *events.ClusterAdopted {
	adopted := &events.ClusterAdopted{Streams: map[string]string{}, Accounts: states[bus.Commands].Accounts}
	for stream, state := range states {
		adopted.Streams[string(stream)] = state.Identity
	}
	return adopted
}

// Identify returns ErrIdentity, with what was found and what to do, unless every stream that is kept on disk is the one
// that the log knows.
func Identify(c *projections.Cluster, states map[bus.Stream]bus.State) error {
	for _, stream := range []bus.Stream{bus.Log, bus.Commands, bus.Orders} {
		state, known := states[stream], c.Streams[string(stream)]
		if state.Identity != known {
			return fmt.Errorf("%w: %s has identity %q and the log recorded %q: it was deleted and created again; if you did"+
				" that on purpose, run `rookery bus adopt`", ErrIdentity, stream, state.Identity, known)
		}
	}
	if on := states[bus.Commands].Accounts; on != c.Accounts {
		return fmt.Errorf("%w: accounts are %s for %s, and the log recorded %s; if you changed that on purpose, run `rookery bus adopt`",
			ErrIdentity, onOff(on), bus.Commands, onOff(c.Accounts))
	}
	if last := states[bus.Commands].Last; last < c.CommandCursor {
		return fmt.Errorf("%w: %s ends at %d and the log has decided commands up to %d: it was restored from an older"+
			" backup; if you restored it on purpose, run `rookery bus adopt`", ErrIdentity, bus.Commands, last, c.CommandCursor)
	}
	return nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (l *leader) read(stream bus.Stream, from uint64) (reader bus.Reader, err error) {
	err = l.patiently(l.ctx, func(ctx context.Context) error {
		reader, err = l.Bus.Read(ctx, stream, from)
		return err
	})
	return reader, err
}

// openInboxes reads the inboxes from after the last decided inputs, and begins to gather the views.
func (l *leader) openInboxes() error {
	var err error
	if l.commands, err = l.read(bus.Commands, l.cursors.commands+1); err != nil {
		return err
	}
	if l.statuses, err = l.read(bus.Statuses, l.cursors.statuses+1); err != nil {
		l.commands.Stop()
		return err
	}
	l.hearBy = time.Now().Add(hearFor)
	l.gatherViews()
	l.keeper = snapshots.Start(l.ctx, l.folds, l.Log, l.SnapshotEvery)
	return nil
}
