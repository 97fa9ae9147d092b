package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

const (
	// tickEvery is how often the loop looks at what time has made due.
	tickEvery = time.Second
	// checkEvery is how often the leader looks whether every stream is still the one that the log knows.
	checkEvery = 2 * time.Second
	// maxInputBytes bounds the bodies of the inputs of one round.
	maxInputBytes = 4 << 20
	// maxInputs bounds the inputs of one round.
	maxInputs = coordinator.MaxEvents
)

// lead takes over and then closes round after round until the lead is lost.
func (c *Coordinator) lead(ctx context.Context, f *follower, ls *lease) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := c.takeOver(ctx, f, ls)
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		l.commands.Stop()
		l.statuses.Stop()
		l.views.Wait()
	}()
	stop, err := c.Bus.Answer(events.HeartbeatRoot+".*", c.beatHandler(ctx))
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		stop()
	}()
	c.Log.Info("leading", "epoch", l.epoch, "round", c.cluster.Round, "sequence", c.cluster.Sequence)
	return l.loop()
}

func (l *leader) loop() error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	renew := time.NewTicker(bus.LeaseAge / 4)
	defer renew.Stop()
	for {
		due, err := l.wait(tick.C, renew.C)
		if err != nil {
			return err
		}
		if err := l.drain(); err != nil {
			return err
		}
		if err := l.round(due); err != nil {
			return err
		}
	}
}

// wait returns when there is something to decide: at once where something waits already, else with the first input.
// It reports whether time may have made something due.
func (l *leader) wait(tick, renew <-chan time.Time) (due bool, err error) {
	for {
		var now <-chan struct{}
		if l.founding != nil || l.renewal != nil || l.agenda.Waits(l.cluster) || l.waiting.count() > 0 {
			now = ready
		}
		select {
		case <-l.ctx.Done():
			return false, l.ctx.Err()
		case a := <-l.asks:
			a.answer(l.Coordinator)
			l.hear(a)
			if len(l.returned) > 0 {
				return false, nil
			}
		case <-renew:
			if err := l.lease.renew(l.ctx); err != nil {
				return false, err
			}
		case <-tick:
			return true, l.tick()
		case m, ok := <-l.commands.Messages():
			if !ok {
				return false, fmt.Errorf("%s: %w", bus.Commands, errReader)
			}
			l.waiting.commands = append(l.waiting.commands, m)
			return false, nil
		case m, ok := <-l.statusMessages():
			if !ok {
				return false, fmt.Errorf("%s: %w", bus.Statuses, errReader)
			}
			l.waiting.statuses = append(l.waiting.statuses, m)
			return false, nil
		case <-now:
			return false, nil
		}
	}
}

// tick does what is to be done from time to time: it finds silent nodes, lets go of old commands and looks whether
// every stream is still the one that it was.
func (l *leader) tick() error {
	l.listen()
	if err := l.keep(l.cluster.Now); err != nil {
		return err
	}
	now := time.Now()
	if !l.cluster.Founded() || now.Sub(l.checkedAt) < checkEvery {
		return nil
	}
	l.checkedAt = now
	if err := l.sameStatuses(); err != nil {
		return err
	}
	states, err := States(l.ctx, l.Bus)
	if err != nil {
		return err
	}
	if last := states[bus.Log].Last; last < l.closed {
		return fmt.Errorf("%w: %s ends at %d, and it was closed at %d", errReader, bus.Log, last, l.closed)
	}
	return Identify(l.cluster, states)
}

// sameStatuses ends the term where the stream of statuses is gone: the next one makes it again.
func (l *leader) sameStatuses() error {
	call, cancel := context.WithTimeout(l.ctx, callTimeout)
	defer cancel()
	state, err := l.Bus.State(call, bus.Statuses)
	if errors.Is(err, bus.ErrNoStream) || (err == nil && state.Identity != l.cluster.Streams[string(bus.Statuses)]) {
		return fmt.Errorf("%w: %s was deleted", errReader, bus.Statuses)
	}
	return err
}

// ready is a channel that always has something.
var ready = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// statusMessages gives nothing while commands of before an adoption wait: what a node lists is to be held against
// what was asked.
func (l *leader) statusMessages() <-chan events.Message {
	if l.cluster.Recovering && l.cursors.commands < l.recoverTo {
		return nil
	}
	return l.statuses.Messages()
}

// drain takes what else waits, up to a round's worth.
func (l *leader) drain() error {
	size := 0
	for l.waiting.count() < maxInputs && size < maxInputBytes {
		select {
		case m, ok := <-l.commands.Messages():
			if !ok {
				return fmt.Errorf("%s: %w", bus.Commands, errReader)
			}
			size += len(m.Body)
			l.waiting.commands = append(l.waiting.commands, m)
		case m, ok := <-l.statusMessages():
			if !ok {
				return fmt.Errorf("%s: %w", bus.Statuses, errReader)
			}
			size += len(m.Body)
			l.waiting.statuses = append(l.waiting.statuses, m)
		default:
			return nil
		}
	}
	return nil
}

// hear notes a node's sign of life.
func (l *leader) hear(a ask) {
	if a.node == "" {
		return
	}
	l.heard[a.node] = time.Now()
	if n := l.cluster.Nodes[a.node]; n != nil && n.Silent && a.beat.Incarnation == n.Incarnation {
		if !slices.Contains(l.returned, a.node) {
			l.returned = append(l.returned, a.node)
		}
	}
}

// listen finds the nodes that were not heard for too long. Where the loop itself was not running, every time-out
// starts anew.
func (l *leader) listen() {
	now := time.Now()
	paused := now.Sub(l.lastTick) > l.Heartbeat+tickEvery
	l.lastTick = now
	l.silent = nil
	for name, n := range l.cluster.Nodes {
		if _, known := l.heard[name]; !known || paused {
			l.heard[name] = now
		}
		if !n.Silent && now.Sub(l.heard[name]) > silentAfter*l.Heartbeat {
			l.silent = append(l.silent, name)
		}
	}
	slices.Sort(l.silent)
	slices.Sort(l.returned)
}
