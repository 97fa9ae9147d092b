package capsule

import (
	"bytes"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Found is what a check comes to.
type Found struct {
	// Rounds and Events count what was folded, Decided the rounds of the part that were decided on once more.
	Rounds, Events, Decided int
	// Commands and Placements count what was decided once more, Missing the commands that the capsule does not have.
	Commands, Placements, Missing int
	// Hash is that of the state at the end.
	Hash string
	// Differs says where the log does not fold, or was decided otherwise; nil where neither is so.
	Differs *Difference
}

// Difference is the first place at which the check and the log differ.
type Difference struct {
	// Sequence is that of the message, and Round the one that it is in.
	Sequence uint64
	Round    uint64
	What     string
}

// String says the difference to people.
func (d Difference) String() string {
	return fmt.Sprintf("round %d, sequence %d of the log: %s", d.Round, d.Sequence, d.What)
}

// checker folds a log, and has a state beside it that it decides on.
type checker struct {
	recorded Recorded
	commands map[uint64]events.Message
	fold     *projections.Fold
	// state is decided on from From on; the same as that of the fold, unless something differs.
	state  *projections.Fold
	agenda *coordinator.Agenda
	found  Found
}

// Check folds the log with its hash chain, and decides on each round of the part once more, in the state before: every command
// that the capsule has, and the node of every instance that got one or waits for one, but for those that a rebalancing moves. What
// nodes have said, and what followed from the time, is taken as the log has it. It stops at the first difference.
func Check(r Recorded) Found {
	c := checker{recorded: r, commands: map[uint64]events.Message{}, fold: projections.NewFold(), state: projections.NewFold()}
	for _, m := range r.Commands {
		c.commands[m.Sequence] = m.Message()
	}
	for _, m := range r.Log {
		records, err := c.fold.Take(m.Message())
		if err != nil {
			c.found.Differs = &Difference{Sequence: m.Sequence, Round: c.fold.Cluster.Round + 1, What: err.Error()}
			break
		}
		c.found.Events++
		if len(records) == 0 {
			continue
		}
		c.found.Rounds++
		if c.found.Differs = c.round(records); c.found.Differs != nil {
			break
		}
	}
	if from, _, open := c.fold.Open(); open && c.found.Differs == nil {
		c.found.Differs = &Difference{Sequence: from, Round: c.fold.Cluster.Round + 1, What: "no round closes over it"}
	}
	if c.found.Hash = c.fold.Cluster.Hash(); c.found.Differs == nil && c.agenda != nil && c.state.Cluster.Hash() != c.found.Hash {
		c.found.Differs = &Difference{
			Sequence: c.fold.Cluster.Sequence, Round: c.fold.Cluster.Round, What: "the state that was decided on is another than the log folds to",
		}
	}
	return c.found
}

// round follows a round that folds: before From with the same fold, from there on by deciding it.
func (c *checker) round(records []events.Record) *Difference {
	end := records[len(records)-1]
	closed, whole := end.Data.(events.RoundClosed)
	if end.Sequence < c.recorded.From {
		for _, m := range c.recorded.Log[c.state.Last():end.Sequence] {
			if _, err := c.state.Take(m.Message()); err != nil {
				return &Difference{Sequence: m.Sequence, Round: c.fold.Cluster.Round, What: err.Error()}
			}
		}
		return nil
	}
	if c.agenda == nil {
		c.agenda = coordinator.NewAgenda(c.state.Cluster)
	}
	state := c.state.Cluster
	if !whole { // a torn round that was voided: nothing was decided
		state.Epoch, state.Leader, state.Sequence, state.Chain = c.fold.Cluster.Epoch, c.fold.Cluster.Leader, c.fold.Cluster.Sequence, c.fold.Cluster.Chain
		return nil
	}
	d := deciding{checker: c, turn: coordinator.NewTurn(state, c.agenda, closed.Now), last: state.CommandCursor, records: records[:len(records)-1]}
	if differs := d.run(); differs != nil {
		differs.Round = closed.Round
		return differs
	}
	c.found.Decided++
	state.Close(end.Sequence, closed, c.fold.Cluster.Chain)
	return nil
}

// deciding is one round that is decided once more.
type deciding struct {
	*checker
	turn    *coordinator.Turn
	records []events.Record
	// last is the sequence of the last command that was decided.
	last uint64
}

// run goes through the events of the round in order.
func (d *deciding) run() (differs *Difference) {
	at := 0
	defer func() {
		if why := recover(); why != nil {
			differs = &Difference{Sequence: d.records[min(at, len(d.records)-1)].Sequence, What: fmt.Sprintf("deciding it fails: %v", why)}
		}
	}()
	for at < len(d.records) {
		r := d.records[at]
		if m, begins := d.begins(r); begins {
			count, differs := d.command(m, at)
			if differs != nil {
				return differs
			}
			at += count
			continue
		}
		if differs := d.placement(r); differs != nil {
			return differs
		}
		d.turn.Happened(r.Event)
		at++
	}
	return nil
}

// begins returns the command whose first effect the event is, where the capsule has it.
func (d *deciding) begins(r events.Record) (events.Message, bool) {
	stream, sequence := events.CauseIn(r.Cause.Causation)
	if stream != commandsStream || sequence <= d.last {
		return events.Message{}, false
	}
	d.last = sequence
	m, kept := d.commands[sequence]
	if !kept {
		d.found.Missing++
	}
	return m, kept
}

// commandsStream is the name that the causes of what commands lead to carry.
const commandsStream = "ROOKERY_COMMANDS"

// command decides a command, holds what follows from it to be what the log has, and returns how many events that is.
func (d *deciding) command(m events.Message, at int) (int, *Difference) {
	d.found.Commands++
	before := len(d.turn.Records)
	d.turn.Command(events.ParseRequest(m))
	made := d.turn.Records[before:]
	for i, r := range made {
		if at+i >= len(d.records) {
			return 0, &Difference{Sequence: d.records[len(d.records)-1].Sequence, What: fmt.Sprintf(
				"command %d (%s) leads to %s, which the log does not have", m.Sequence, m.Subject, said(r))}
		}
		logged := d.records[at+i]
		if !same(logged, r) {
			return 0, &Difference{Sequence: logged.Sequence, What: fmt.Sprintf(
				"command %d (%s) led to %s, and decided once more to %s", m.Sequence, m.Subject, said(logged), said(r))}
		}
	}
	if len(made) == 0 {
		return 0, &Difference{Sequence: d.records[at].Sequence, What: fmt.Sprintf(
			"command %d (%s) led to %s, and decided once more to nothing", m.Sequence, m.Subject, said(d.records[at]))}
	}
	return len(made), nil
}

// same reports whether both are one event, as the log writes it.
func same(a, b events.Record) bool {
	x, errX := plain(a)
	y, errY := plain(b)
	return errX == nil && errY == nil && x.Subject == y.Subject && bytes.Equal(x.Body, y.Body)
}

// said is the event for people.
func said(r events.Record) string {
	m, err := plain(r)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s", m.Subject, m.Body)
}

// plain is the event without what is of its place in the log alone.
func plain(r events.Record) (events.Message, error) {
	r.Sequence, r.Time, r.Cause = 0, time.Time{}, events.Cause{}
	return r.Message("")
}
