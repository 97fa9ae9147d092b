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
	"github.com/rookery-project/rookery/events/bus/supply"
)

const (
	// tickEvery is how often the loop checks what is due by now: with every few pulses.
	tickEvery     = pulsesPerTick * pulseEvery
	pulsesPerTick = 2
	// checkEvery is how often the leader checks whether every stream is still the one that the log knows.
	checkEvery = 5 * time.Second
	// lookFor is how long the loop waits for the answers to that.
	lookFor = time.Second
	// maxInputBytes bounds the bodies of the inputs of one round.
	maxInputBytes = 4 << 20
	// maxInputs bounds the inputs of one round.
	maxInputs = coordinator.MaxEvents
)

// lead fails over and then closes round after round until it loses the lead.
func (c *Coordinator) lead(ctx context.Context, f *follower, ls *lease) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := c.failOver(ctx, f, ls)
	if err != nil {
		return err
	}
	l.writeEndpoints()
	defer func() {
		cancel()
		l.endpoints.Wait()
	}()
	defer func() {
		cancel()
		l.comparison.stop()
	}()
	if err := l.begin(f); err != nil {
		return err
	}
	defer func() {
		cancel()
		l.commands.Stop()
		l.statuses.Stop()
		if l.views != nil {
			l.views.Wait()
		}
		l.keeper.Wait()
	}()
	defer func() {
		cancel()
		l.stopHeartbeats()
	}()
	if l.comparison == nil {
		if err := l.answerHeartbeats(); err != nil {
			return err
		}
	}
	stopAnswers, err := l.answerOthers(ctx, ls)
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		stopAnswers()
	}()
	c.meters.Leads(ctx, c.cluster)
	defer c.meters.StandsBy()
	c.Log.Info("leading", "epoch", l.epoch, "round", c.cluster.Round, "sequence", c.cluster.Sequence)
	return l.loop()
}

// answerOthers answers what only the leader answers, beside heartbeats, until stop is called.
func (l *leader) answerOthers(ctx context.Context, ls *lease) (stop func(), err error) {
	return bus.Begin(
		func() (func(), error) { return l.Bus.Answer(events.TrimSubject, l.trimHandler(ctx, ls)) },
		func() (func(), error) { return l.Bus.Answer(events.RunningSubject, l.answerRunning) },
		func() (func(), error) { return l.Bus.Answer(events.JoinSubject("*"), l.joinHandler(ctx, ls)) },
		func() (func(), error) { return supply.Serve(l.Bus, func() bool { return !ls.expired() }) },
	)
}

func (l *leader) loop() error {
	pulse := time.NewTicker(pulseEvery)
	defer pulse.Stop()
	for {
		l.heartbeats.update(l.Coordinator, time.Now())
		due, err := l.wait(pulse.C)
		if err != nil {
			return err
		}
		if err := l.round(due); err != nil {
			return err
		}
		if l.taken < lookAfter {
			continue
		}
		if err := l.makeRoom(); err != nil {
			return err
		}
	}
}

// wait returns when there is something to decide. It reports whether time may have made something due. It takes what has arrived in a fixed
// order, so that the same arrivals give the same rounds: questions, the time, commands, statuses.
func (l *leader) wait(pulse <-chan time.Time) (due bool, err error) {
	for {
		if err := l.ctx.Err(); err != nil {
			return false, err
		}
		l.attend()
		beaten := false
		select {
		case <-pulse:
			beaten = true
			if due, err = l.beat(); err != nil {
				return false, err
			}
		default:
		}
		if err := l.drain(); err != nil {
			return false, err
		}
		if err := l.compare(); err != nil {
			return false, err
		}
		l.gather()
		switch {
		case due || l.waits():
			return due, nil
		case beaten || l.comparison.owes() || l.views == nil: // that may have taken long, or is not over
			continue
		}
		if due, err = l.sleep(pulse); due || err != nil {
			return due, err
		}
	}
}

// waits reports whether there is something to decide now.
func (l *leader) waits() bool {
	return l.founding != nil || l.renewal != nil || len(l.returned) > 0 || l.waiting.count() > 0 || (l.work.Waits(l.cluster) && !l.catchingUp())
}

// attend notes the silent nodes that sent a heartbeat, so that the next round decides that they are back, and answers the waiting questions.
func (l *leader) attend() {
	for _, node := range l.heartbeats.takeBack() {
		if at, noted := slices.BinarySearch(l.returned, node); !noted && l.cluster.Nodes[node] != nil && l.cluster.Nodes[node].Silent {
			l.returned = slices.Insert(l.returned, at, node)
		}
	}
	for {
		select {
		case a := <-l.asks:
			a(l.Coordinator)
		default:
			return
		}
	}
}

// sleep waits for whatever comes first.
func (l *leader) sleep(pulse <-chan time.Time) (due bool, err error) {
	select {
	case <-l.ctx.Done():
		return false, l.ctx.Err()
	case a := <-l.asks:
		a(l.Coordinator)
		return false, nil
	case <-l.heartbeats.woken:
		return false, nil
	case <-pulse:
		return l.beat()
	case m, ok := <-l.commands.Messages():
		return false, l.takeCommand(m, ok)
	case m, ok := <-l.statusMessages():
		return false, l.takeStatus(m, ok)
	case m, ok := <-l.comparison.messages():
		return false, l.takeStanding(m, ok)
	}
}

// beat shows that the loop is alive with each pulse, and ticks with every few.
func (l *leader) beat() (due bool, err error) {
	l.pulses++
	if err := l.alive(); err != nil {
		return false, err
	}
	if l.pulses%pulsesPerTick != 0 {
		return false, nil
	}
	return true, l.tick()
}

// alive shows that the loop is alive, and that this coordinator still leads.
func (l *leader) alive() error {
	kept, err := l.lease.beat(l.closed)
	if kept.After(l.heard) {
		l.heard = kept
	}
	return err
}

// tick does periodic work: it finds silent nodes, purges old commands, checks views or writes them again, and checks whether every stream is still the
// same.
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
	l.rewrite()
	l.sweep(now)
	l.watchRoom(now)
	call, cancel := context.WithTimeout(l.ctx, lookFor)
	defer cancel()
	var states map[bus.Stream]bus.State
	err := l.checkClock(call, l.clock)
	if err == nil {
		states, err = States(call, l.Bus)
	}
	l.learn(err)
	switch {
	case passing(err) && now.Sub(l.lookedAt) < confirmFor:
		l.Log.Warn("cannot look at the streams; trying again", "error", err, "in", checkEvery, "advice", advice(err))
		return nil
	case err != nil:
		return l.lostStatuses(err)
	}
	l.lookedAt = now
	switch lost, err := l.remade(call, states[bus.Statuses]); {
	case lost:
		return fmt.Errorf("%w: %s was lost", bus.ErrReader, bus.Statuses)
	case err != nil && !passing(err):
		return err
	case err == nil:
		l.known = l.latest
	}
	l.meters.Lag(bus.Commands, states[bus.Commands].Last, l.cursors.commands, now)
	l.meters.Lag(bus.Statuses, states[bus.Statuses].Last, l.cursors.statuses, now)
	if last := states[bus.Log].Last; last < l.closed {
		return fmt.Errorf("%w: %s ends at %d, and it was closed at %d", bus.ErrReader, bus.Log, last, l.closed)
	}
	return Identify(l.cluster, states)
}

// lostStatuses distinguishes a lost stream of statuses, which the next term creates again, from all other errors of streams.
func (l *leader) lostStatuses(err error) error {
	call, cancel := context.WithTimeout(l.ctx, bus.CallTimeout)
	defer cancel()
	if _, missing := l.Bus.State(call, bus.Statuses); errors.Is(err, bus.ErrNoStream) && errors.Is(missing, bus.ErrNoStream) {
		return fmt.Errorf("%w: %s was deleted", bus.ErrReader, bus.Statuses)
	}
	return err
}

// statusMessages returns no statuses while commands from before an adoption wait: the state must have what was asked before it compares
// what a node lists.
func (l *leader) statusMessages() <-chan events.Message {
	if l.cluster.Recovering && l.cursors.commands < l.recoverTo {
		return nil
	}
	return l.statuses.Messages()
}

// drain takes what waits, up to a round's worth: commands first.
func (l *leader) drain() error {
	for l.room() {
		select {
		case m, ok := <-l.commands.Messages():
			if err := l.takeCommand(m, ok); err != nil {
				return err
			}
			continue
		default:
		}
		select {
		case m, ok := <-l.statusMessages():
			if err := l.takeStatus(m, ok); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// room reports whether one more input may wait.
func (l *leader) room() bool { return l.waiting.count() < maxInputs && l.waitingSize < maxInputBytes }

func (l *leader) takeCommand(m events.Message, ok bool) error {
	if !ok {
		return fmt.Errorf("%s: %w", bus.Commands, bus.ErrReader)
	}
	if isTaken(m, l.waiting.commands, l.cursors.commands) {
		return nil
	}
	l.waiting.commands = append(l.waiting.commands, m)
	l.waitingSize += len(m.Body)
	l.taken += stored(m)
	return nil
}

// stored is about what a message takes in its stream.
func stored(m events.Message) int {
	const record = 64 // what the server stores in addition
	size := record + len(m.Subject) + len(m.Body)
	for name, values := range m.Header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	return size
}

func (l *leader) takeStatus(m events.Message, ok bool) error {
	if !ok {
		return fmt.Errorf("%s: %w", bus.Statuses, bus.ErrReader)
	}
	if isTaken(m, l.waiting.statuses, l.cursors.statuses) {
		return nil
	}
	l.waiting.statuses = append(l.waiting.statuses, m)
	l.waitingSize += len(m.Body)
	return nil
}

// isTaken reports whether a message was taken before, as a reader that begins again may repeat messages.
func isTaken(m events.Message, waiting []events.Message, cursor uint64) bool {
	if n := len(waiting); n > 0 {
		cursor = waiting[n-1].Sequence
	}
	return m.Sequence <= cursor
}

// listen finds the nodes that sent no heartbeat for too long. If the loop itself was paused, or heartbeats are not answered yet, every time-out
// starts again.
func (l *leader) listen() {
	now := time.Now()
	paused := now.Sub(l.lastTick) > l.Heartbeat+tickEvery
	l.lastTick = now
	if paused || l.comparison != nil {
		l.work.Resume()
		l.heartbeats.assume(l.cluster, now)
	}
	var answering int
	l.silent, answering = l.heartbeats.silent(l.cluster, now, l.cluster.Policy.Liveness.Silence(l.Heartbeat), l.Heartbeat+tickEvery)
	l.meters.Answering(answering)
}
