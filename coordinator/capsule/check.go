package capsule

import (
	"bytes"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Found is the result of a check.
type Found struct {
	// Rounds and Events count what was folded. Decided counts the rounds of the part whose decisions were repeated.
	Rounds, Events, Decided int
	// Commands and Placements count the repeated decisions. Missing counts the commands that the capsule does not have.
	Commands, Placements, Missing int
	// Hash is the hash of the state at the end.
	Hash string
	// Differs says where the log does not fold, or where a repeated decision differs from it; nil if there is no such place.
	Differs *Difference
}

// Difference is the first place at which the check and the log differ.
type Difference struct {
	// Sequence is the sequence of the message, and Round is its round.
	Sequence uint64
	Round    uint64
	What     string
}

// String describes the difference for the operator.
func (d Difference) String() string {
	return fmt.Sprintf("round %d, sequence %d of the log: %s", d.Round, d.Sequence, d.What)
}

// checker folds a log, and repeats its decisions on a second state.
type checker struct {
	recorded Recorded
	commands map[uint64]events.Message
	fold     *projections.Fold
	// state is the second state, which changes by repeated decisions from From on. It equals that of the fold, unless something
	// differs.
	state *projections.Fold
	work  *coordinator.WorkQueue
	found Found
}

// Check folds the log with its hash chain, and repeats the decisions of each round of the part, in the state before the round.
// It repeats every command that the capsule has, and the choice of a node for every instance that got one or waits for one. It
// leaves out instances that a rebalancing moves. It takes the nodes' reports, and what followed from the time, as the log has
// them. It stops at the first difference.
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
	if c.found.Hash = c.fold.Cluster.Hash(); c.found.Differs == nil && c.work != nil && c.state.Cluster.Hash() != c.found.Hash {
		c.found.Differs = &Difference{
			Sequence: c.fold.Cluster.Sequence, Round: c.fold.Cluster.Round, What: "the state of the repeated decisions differs from the state of the fold",
		}
	}
	return c.found
}

// round follows a round that folds: before From it folds the round again, from there on it repeats its decisions.
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
	if c.work == nil {
		c.work = coordinator.NewWorkQueue(c.state.Cluster)
	}
	state := c.state.Cluster
	if !whole { // a torn round that was voided: it decided nothing
		state.Epoch, state.Leader, state.Sequence, state.Chain = c.fold.Cluster.Epoch, c.fold.Cluster.Leader, c.fold.Cluster.Sequence, c.fold.Cluster.Chain
		return nil
	}
	d := deciding{checker: c, turn: coordinator.NewTurn(state, c.work, closed.Now), last: state.CommandCursor, records: records[:len(records)-1]}
	if differs := d.run(); differs != nil {
		differs.Round = closed.Round
		return differs
	}
	c.found.Decided++
	state.Close(end.Sequence, closed, c.fold.Cluster.Chain)
	return nil
}

// deciding is one round whose decisions are repeated.
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
			differs = &Difference{Sequence: d.records[min(at, len(d.records)-1)].Sequence, What: fmt.Sprintf("the repeated decision fails: %v", why)}
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

// begins returns the command whose first effect the event is, if the capsule has it.
func (d *deciding) begins(r events.Record) (events.Message, bool) {
	stream, sequence := events.CauseIn(r.Cause.Causation)
	if stream != commandsStream || sequence <= d.last {
		return events.Message{}, false
	}
	d.last = sequence
	m, kept := d.commands[sequence]
	if !kept {
		d.found.Missing++
		return m, false
	}
	if _, depends := events.ParseRequest(m).Command.(events.ClusterFinishUpgrade); depends {
		return m, false // it depends on the programs that ran, which the log does not have
	}
	return m, true
}

// commandsStream is the stream in the causes of what follows from commands.
const commandsStream = "ROOKERY_COMMANDS"

// command repeats the decision of a command, compares it with the log, and returns how many events it led to.
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
				"command %d (%s) led to %s, and the repeated decision to %s", m.Sequence, m.Subject, said(logged), said(r))}
		}
	}
	if len(made) == 0 {
		return 0, &Difference{Sequence: d.records[at].Sequence, What: fmt.Sprintf(
			"command %d (%s) led to %s, and the repeated decision to nothing", m.Sequence, m.Subject, said(d.records[at]))}
	}
	return len(made), nil
}

// same reports whether both are the same event, as the log writes it.
func same(a, b events.Record) bool {
	x, errX := plain(a)
	y, errY := plain(b)
	return errX == nil && errY == nil && x.Subject == y.Subject && bytes.Equal(x.Body, y.Body)
}

// said returns the event as text for the operator.
func said(r events.Record) string {
	m, err := plain(r)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s", m.Subject, m.Body)
}

// plain returns the event without what depends only on its place in the log.
func plain(r events.Record) (events.Message, error) {
	r.Sequence, r.Time, r.Cause = 0, time.Time{}, events.Cause{}
	return r.Message("")
}
