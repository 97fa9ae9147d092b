package checker

import (
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// logState is the state of the log.
type logState struct {
	// held holds the records since the last closed round, chain the hash up to that round, and open the hash over all messages.
	held        []events.Record
	chain, open events.Chain
	// last is the sequence of the last message, closed that of the last closed round and opened that of the one before.
	last, closed, opened uint64
	round, epoch         uint64
	// events counts the events of closed rounds.
	events int
	// commands and statuses are the cursors in these streams. now is the time of the last round, and stored the time when it was stored.
	commands, statuses uint64
	now                time.Time
	stored             time.Time
	leaders            map[uint64]string
	// ends are the closed rounds, in order.
	ends []end
	// second is when the current second began, and before the last message before it.
	second  time.Time
	before  uint64
	streams map[string]string
}

// end is the sequence at which a round closes, and the time when the round was stored.
type end struct {
	closed uint64
	stored time.Time
}

// round is a closed round that the fold has still to take.
type round struct {
	records  []events.Record
	closed   events.RoundClosed
	sequence uint64
	chain    events.Chain
	void     bool
}

// Stand is the position of the log: its last message, its last closed round, the coordinator that closed it, the number of rounds, and the
// hash over all messages.
type Stand struct {
	Last, Closed, Rounds uint64
	Leader               string
	Chain                events.Chain
}

// Log returns the position of the log.
func (c *Checker) Log() Stand {
	l := &c.log
	return Stand{Last: l.last, Closed: l.closed, Rounds: l.round, Leader: l.leaders[l.epoch], Chain: l.chain}
}

// logged takes messages that were stored at the end of the log.
func (c *Checker) logged(messages []events.Message) {
	if c.damaged {
		c.breach("P8", "a coordinator appends to the log although it is damaged")
		return
	}
	l := &c.log
	defer c.decidesAgain()
	for _, m := range messages {
		l.last++
		m.Sequence = l.last
		r, err := events.ParseRecord(m)
		if err != nil {
			c.breach("P8", "the log holds a message that cannot be decoded: %v", err)
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
	known := l.leaders[epoch]
	c.must(known == "" || known == leader, "P4", "%s and %s both wrote to the log in epoch %d", known, leader, epoch)
	c.must(epoch >= l.epoch, "P4", "%s wrote in epoch %d after epoch %d had begun", leader, epoch, l.epoch)
	l.epoch, l.leaders[epoch] = epoch, leader
}

// close checks a round: its place, its hash, its time, each event in order, and its cursor.
func (c *Checker) close(m events.Message, d events.RoundClosed) {
	l := &c.log
	c.must(d.Round == l.round+1, "P4", "round %d follows round %d: the log has two writers", d.Round, l.round)
	c.must(d.Chain == l.open, "P4", "the hash of round %d does not fit its events", d.Round)
	c.leads(d.Epoch, d.Leader)
	c.checkTime(d)
	adopted, renewed := false, false
	for _, r := range l.held {
		c.must(r.Time.Equal(d.Now), "time", "%s in round %d has the time %s, but the round has %s", r.Data.Kind().Name, d.Round, r.Time, d.Now)
		switch d := r.Data.(type) {
		case events.ClusterAdopted:
			adopted = true
			c.adopt(d)
		case events.ClusterRenewed:
			renewed = true // statuses are read from the beginning of a new stream
		}
		c.event(r)
	}
	if !adopted {
		c.checkCursor(d)
		c.must(renewed || d.Statuses >= l.statuses, "P2", "the cursor of statuses runs back from %d to %d", l.statuses, d.Statuses)
	}
	c.desired()
	l.chain = l.open.Extend(m)
	l.open, l.opened = l.chain, l.closed
	l.round, l.now, l.stored, l.closed, l.commands, l.statuses = d.Round, d.Now, c.Now(), l.last, d.Commands, d.Statuses
	l.ends = append(l.ends, end{l.closed, l.stored})
	c.unfolded = append(c.unfolded, round{records: l.held, closed: d, sequence: l.last, chain: l.chain})
	l.events, l.held = l.events+len(l.held), nil
	c.checkCalm()
}

// adopt follows an adoption. The commands of another stream are unrelated to those before.
func (c *Checker) adopt(d events.ClusterAdopted) {
	l := &c.log
	if d.Streams[string(bus.Commands)] != l.streams[string(bus.Commands)] {
		f := c.facts
		clear(f.commands)
		clear(f.open)
		clear(f.ids)
		clear(f.groups)
	}
	l.streams, l.commands, c.orders.suspended = d.Streams, d.Commands, false
}

// checkTime checks that the time of rounds never runs back, and is never far ahead of the server's.
func (c *Checker) checkTime(d events.RoundClosed) {
	const allowed = 8 * time.Second // 5 s of skew, and the time until the server stores the round
	c.must(!d.Now.Before(c.log.now), "time", "round %d runs back from %s to %s", d.Round, c.log.now, d.Now)
	ahead := d.Now.Sub(c.Now())
	c.must(ahead <= allowed || !d.Now.After(c.log.now), "time", "round %d is decided %s ahead of the server's time", d.Round, ahead)
}

// checkCursor checks that the cursor climbs, and that each command up to it has its outcome.
func (c *Checker) checkCursor(d events.RoundClosed) {
	c.must(d.Commands >= c.log.commands, "P2", "the cursor runs back from %d to %d", c.log.commands, d.Commands)
	for sequence := c.log.commands + 1; sequence <= d.Commands; sequence++ {
		c.must(c.facts.commands[sequence] != nil, "P2", "round %d has passed command %d without an outcome", d.Round, sequence)
	}
}
