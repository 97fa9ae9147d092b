package checker

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// logState is where the log stands.
type logState struct {
	// held are the records since the last closed round, chain the hash up to that round, and open the hash over all messages.
	held        []events.Record
	chain, open events.Chain
	// last is the sequence of the last message, closed that of the last closed round and opened that of the one before.
	last, closed, opened uint64
	round, epoch         uint64
	// events counts those of closed rounds.
	events int
	// commands is the cursor of the inbox, and now the time of the last round, which was stored at stored.
	commands uint64
	now      time.Time
	stored   time.Time
	leaders  map[uint64]string
	// second is when the present second began, and before the last message before it.
	second  time.Time
	before  uint64
	streams map[string]string
	// recovers is until when nothing is placed or stopped after an adoption.
	recovers time.Time
}

// round is a closed round that the fold is to take.
type round struct {
	records  []events.Record
	closed   events.RoundClosed
	sequence uint64
	chain    events.Chain
	void     bool
}

// Last is the sequence of the last message of the log.
func (c *Checker) Last() uint64 { return c.log.last }

// Closed is the sequence of the last closed round.
func (c *Checker) Closed() uint64 { return c.log.closed }

// Rounds counts the rounds of the log.
func (c *Checker) Rounds() uint64 { return c.log.round }

// Chain is the hash over the whole log.
func (c *Checker) Chain() events.Chain { return c.log.chain }

// Leader returns who closed the last round.
func (c *Checker) Leader() string { return c.log.leaders[c.log.epoch] }

// logged takes messages that were stored at the end of the log.
func (c *Checker) logged(messages []events.Message) {
	if c.damaged {
		c.breach("P8", "the log goes on although it is damaged")
		return
	}
	l := &c.log
	defer c.decidesAgain()
	for _, m := range messages {
		l.last++
		m.Sequence = l.last
		r, err := events.ParseRecord(m)
		if err != nil {
			c.breach("P8", "the log holds a message that does not read: %v", err)
			return
		}
		switch d := r.Data.(type) {
		case events.RoundClosed:
			c.close(m, d)
		case events.RoundVoid:
			l.held, l.chain, l.closed = nil, l.chain.Extend(m), l.last
			l.open = l.chain
			c.leads(d.Epoch, d.Leader)
			closed := events.RoundClosed{Epoch: d.Epoch, Leader: d.Leader}
			c.unfolded = append(c.unfolded, round{closed: closed, sequence: l.last, chain: l.chain, void: true})
		default:
			l.open = l.open.Extend(m)
			l.held = append(l.held, r)
		}
	}
}

// leads checks that each epoch has one leader, and that epochs climb.
func (c *Checker) leads(epoch uint64, leader string) {
	l := &c.log
	if known := l.leaders[epoch]; known != "" && known != leader {
		c.breach("P4", "%s and %s both wrote to the log in epoch %d", known, leader, epoch)
	}
	if epoch < l.epoch {
		c.breach("P4", "%s wrote in epoch %d after epoch %d had begun", leader, epoch, l.epoch)
	}
	l.epoch, l.leaders[epoch] = epoch, leader
}

// close checks a round: its place, its hash, its time, each event in order, and its cursor.
func (c *Checker) close(m events.Message, d events.RoundClosed) {
	l := &c.log
	if d.Round != l.round+1 {
		c.breach("P4", "round %d follows round %d: the log has two writers", d.Round, l.round)
	}
	if d.Chain != l.open {
		c.breach("P4", "the hash of round %d does not fit its events", d.Round)
	}
	c.leads(d.Epoch, d.Leader)
	c.checkTime(d)
	adopted := false
	for _, r := range l.held {
		if !r.Time.Equal(d.Now) {
			c.breach("time", "%s in round %d is of %s, and the round of %s", r.Data.Kind().Name, d.Round, r.Time, d.Now)
		}
		if a, is := r.Data.(events.ClusterAdopted); is {
			adopted = true
			c.adopt(a, r.Time)
		}
		c.event(r)
	}
	if !adopted {
		c.checkCursor(d)
	}
	c.desired()
	l.chain = l.open.Extend(m)
	l.open, l.opened = l.chain, l.closed
	l.round, l.now, l.stored, l.closed, l.commands = d.Round, d.Now, c.Now(), l.last, d.Commands
	c.unfolded = append(c.unfolded, round{records: l.held, closed: d, sequence: l.last, chain: l.chain})
	l.events, l.held = l.events+len(l.held), nil
	c.checkCalm()
}

// recoverFor is how long after an adoption nothing is placed or stopped.
const recoverFor = 15 * time.Second

// adopt follows an adoption: commands of another inbox have nothing to do with those before.
func (c *Checker) adopt(d events.ClusterAdopted, at time.Time) {
	l := &c.log
	if d.Streams[string(bus.Commands)] != l.streams[string(bus.Commands)] {
		c.facts.forgetCommands()
	}
	if l.round > 0 {
		l.recovers = at.Add(recoverFor)
	}
	l.streams, l.commands, c.orders.suspended = d.Streams, d.Commands, false
}

// checkTime checks that the time of rounds never runs back, and is never far ahead of the server's.
func (c *Checker) checkTime(d events.RoundClosed) {
	const allowed = 8 * time.Second // 5 of skew, and the way there
	if d.Now.Before(c.log.now) {
		c.breach("time", "round %d runs back from %s to %s", d.Round, c.log.now, d.Now)
	}
	if ahead := d.Now.Sub(c.Now()); ahead > allowed && d.Now.After(c.log.now) {
		c.breach("time", "round %d is decided %s ahead of the server's time", d.Round, ahead)
	}
}

// checkCursor checks that the cursor climbs, that each command below it has its outcome, and none above it.
func (c *Checker) checkCursor(d events.RoundClosed) {
	if d.Commands < c.log.commands {
		c.breach("P2", "the cursor runs back from %d to %d", c.log.commands, d.Commands)
	}
	for sequence := c.log.commands + 1; sequence <= d.Commands; sequence++ {
		if c.facts.commands[sequence] == nil {
			c.breach("P2", "round %d has passed command %d without an outcome", d.Round, sequence)
		}
	}
	for _, r := range c.log.held {
		if sequence, ok := outcomeOf(r.Data); ok && sequence > d.Commands {
			c.breach("P10", "round %d has the outcome of command %d, and its cursor stands at %d", d.Round, sequence, d.Commands)
		}
	}
}

// outcomeOf returns the command that the event is the outcome of.
func outcomeOf(d events.Data) (sequence uint64, ok bool) {
	switch d := d.(type) {
	case events.CommandAccepted:
		return d.Sequence, true
	case events.CommandRejected:
		return d.Sequence, true
	case events.CommandRepeated:
		return d.Sequence, true
	}
	return 0, false
}
