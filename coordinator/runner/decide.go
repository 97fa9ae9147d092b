package runner

import (
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// taken are the inputs that a round has decided on, and how long that took.
type taken struct {
	inputs inputs
	decide time.Duration
}

// errDecide occurs when a decision panicked, which is a defect in the coordinator. The state can then no longer be used.
var errDecide = errors.New("a decision failed")

// inputs are messages of the inboxes, in the order of their sequences, and the services whose operations are taken over.
type inputs struct {
	commands, statuses []events.Message
	inherited          []events.ServiceID
}

func (in inputs) count() int { return len(in.commands) + len(in.statuses) }

// before returns the inputs that come before the rest of them.
func (in inputs) before(rest inputs) inputs {
	return inputs{
		commands: in.commands[:len(in.commands)-len(rest.commands)],
		statuses: in.statuses[:len(in.statuses)-len(rest.statuses)],
	}
}

// size is that of all bodies in bytes.
func (in inputs) size() (size int) {
	for _, m := range in.commands {
		size += len(m.Body)
	}
	for _, m := range in.statuses {
		size += len(m.Body)
	}
	return size
}

// take returns at most maxInputs of the waiting inputs, commands first.
func (l *leader) take() inputs {
	c := min(len(l.waiting.commands), maxInputs)
	s := min(len(l.waiting.statuses), maxInputs-c)
	in := inputs{commands: l.waiting.commands[:c:c], statuses: l.waiting.statuses[:s:s], inherited: l.inherited}
	l.waiting.commands, l.waiting.statuses = l.waiting.commands[c:], l.waiting.statuses[s:]
	l.waitingSize -= in.size()
	return in
}

// putBack returns inputs to the head of those that wait.
func (l *leader) putBack(in inputs) {
	l.waiting.commands = append(in.commands, l.waiting.commands...)
	l.waiting.statuses = append(in.statuses, l.waiting.statuses...)
	l.waitingSize += in.size()
}

// round decides the waiting inputs, appends the round and publishes what changed. Inputs that did not fit wait for the next round.
func (l *leader) round(due bool) error {
	in, began := l.take(), time.Now()
	cursors := l.cursors
	turn := coordinator.NewTurn(l.cluster, l.work, l.now())
	turn.MaxUnits, turn.Blamed = l.maxUnits, l.blamed
	turn.Running = l.runningFor(in.commands)
	l.settled = false // until the log has what is decided now, or nothing was
	rest, err := l.decide(turn, in, due)
	took := time.Since(began)
	if err == nil && len(turn.Records) == 0 && !l.cluster.Recovering {
		l.settled, l.returned, l.silent, l.inherited = true, nil, nil, nil
		return nil // the cursors go into the log with the next round that says something
	}
	if err == nil {
		l.heartbeats.cutOff(turn.Records)
		err = l.commit(turn, taken{in.before(rest), took})
	}
	if errors.Is(err, errDecide) || errors.Is(err, bus.ErrTooLarge) {
		l.cursors = cursors
		l.putBack(in)
		l.silent = nil // they are answered again until the next look
		return l.isolate(turn, err)
	}
	if err != nil {
		return err
	}
	if err := l.publish(turn.Records); err != nil {
		return err
	}
	l.putBack(rest)
	l.returned = slices.DeleteFunc(l.returned, func(node string) bool {
		n := l.cluster.Nodes[node]
		if n != nil && n.Silent && !n.Forgotten && !n.Revoked {
			return false // the round was full before it
		}
		if n != nil && n.Unlisted {
			l.lists[node] = uint64(l.clock.now().UnixNano())
		}
		return true
	})
	l.maxUnits, l.retries = growsTo(2*l.maxUnits), false
	l.forgive()
	l.founding, l.renewal, l.silent, l.inherited = nil, nil, nil, rest.inherited
	return nil
}

// now is the time of the next round: it never runs backwards.
func (l *leader) now() time.Time {
	now := l.clock.now()
	if now.Before(l.cluster.Now) {
		return l.cluster.Now
	}
	return now
}

// decide takes the inputs in order while there is room, then reconciles the work queue, unless the leader is still catching up on statuses.
// It returns the inputs that it did not get to. A panic is returned as errDecide.
func (l *leader) decide(turn *coordinator.Turn, in inputs, due bool) (rest inputs, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v\n%s", errDecide, r, debug.Stack())
		}
	}()
	turn.Fill(func() { l.decideInputs(turn, &in) })
	if l.catchingUp() {
		return in, nil
	}
	turn.Fill(func() { l.rejoin(turn) })
	if due {
		turn.Due()
	}
	turn.Look()
	return in, nil
}

// decideInputs removes from the inputs those that it has decided.
func (l *leader) decideInputs(turn *coordinator.Turn, in *inputs) {
	if l.founding != nil {
		turn.Found(*l.founding, l.Program.Levels.Most)
	}
	turn.Signs(l.Signers.root())
	if l.renewal != nil {
		turn.Renewed(*l.renewal)
	}
	if l.retries {
		turn.Retry()
	}
	for _, node := range l.returned {
		turn.Returned(node)
	}
	for _, node := range l.silent {
		turn.Silent(node)
	}
	for len(in.inherited) > 0 && !turn.Cluster.Recovering {
		turn.TakenOver(in.inherited[0])
		in.inherited = in.inherited[1:]
	}
	for len(in.commands) > 0 {
		l.command(turn, in.commands[0])
		l.cursors.commands = in.commands[0].Sequence
		in.commands = in.commands[1:]
	}
	for len(in.statuses) > 0 {
		l.status(turn, in.statuses[0])
		l.cursors.statuses, l.latest = in.statuses[0].Sequence, storedStatus{in.statuses[0].Sequence, in.statuses[0].Time}
		in.statuses = in.statuses[1:]
	}
}

// rejoin begins new node epochs while the cluster recovers, once the leader has caught up on what nodes reported before.
func (l *leader) rejoin(turn *coordinator.Turn) {
	if !turn.Cluster.Recovering || l.cursors.commands < l.recoverTo {
		return
	}
	if l.rejoins == nil {
		l.rejoins = map[string]uint64{}
		for name, n := range turn.Cluster.Nodes {
			l.rejoins[name] = n.Epoch
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.rejoins)) {
		turn.Rejoin(name, l.rejoins[name])
	}
}

// command lets the turn decide the command, or refuses a command that failed before.
func (l *leader) command(turn *coordinator.Turn, m events.Message) {
	if _, why := l.blamedInput(events.WorkCommand, m.Sequence); why != "" {
		turn.Refuse(parseAnyway(m), why)
		return
	}
	turn.Working = events.Unit{Work: events.WorkCommand, Scope: events.ClusterScope, Sequence: m.Sequence}
	turn.Command(events.ParseRequest(m))
}

func (l *leader) status(turn *coordinator.Turn, m events.Message) {
	if m.Sequence > l.cursors.statuses+1 && l.cursors.statuses > 0 {
		l.list = uint64(l.clock.now().UnixNano()) // some were dropped unread: nodes must report again what they have
	}
	l.hearBy = time.Now().Add(hearFor)
	if unit, why := l.blamedInput(events.WorkStatus, m.Sequence); why != "" {
		l.shunStatus(turn, m, unit, why)
		return
	}
	turn.Working = events.Unit{Work: events.WorkStatus, Scope: events.ClusterScope, Sequence: m.Sequence}
	status, err := events.ParseStatus(m)
	if err != nil {
		l.Log.Warn("ignored a status", "subject", m.Subject, "sequence", m.Sequence, "error", err)
		return
	}
	if status.List != nil && turn.Cluster.Recovering && m.Sequence <= l.hearTo {
		return // the node lists again what it has, since this leader took over
	}
	turn.Status(m.Sequence, status)
}
