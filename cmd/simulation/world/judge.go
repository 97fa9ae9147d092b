package world

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
	noderunner "github.com/rookery-project/rookery/node/runner"
	"github.com/rookery-project/rookery/projections"
)

// judge reads what is stored in the log and in the orders and what engines do, and holds it to the promises. What it
// knows of the cluster it works out from the events by rules of its own. Of the house's it uses how selectors match, what
// a node may give away, and how views are written.
type judge struct {
	w      *World
	states map[bus.Stream]bus.State
	ending bool

	// held are the records since the last closed round, and chain is the hash over all messages.
	held   []events.Record
	chain  chain
	open   chain
	last   uint64
	closed uint64
	// opened is behind what the last closed round begins.
	opened uint64
	round  uint64
	epoch  uint64
	// began is the first round of the epoch that rules.
	began time.Time
	rules uint64
	// stored is when the last round was, and before when the last of the leader before was: this one began no sooner.
	stored, before time.Time
	now            time.Time
	// recovers is until when nodes may say what they have after streams were adopted.
	recovers time.Time
	at       time.Time // of the event that is being judged
	// leaders is who led each epoch.
	leaders  map[uint64]string
	commands uint64 // the cursor
	cluster  *knowledge

	// decided is the latest decision that each order's subject has, mark the epoch of the last leader's mark, and followed up to where
	// it had read the log.
	decided  map[string]uint64
	mark     uint64
	followed uint64

	// finished are the instances of jobs whose container ended well by itself.
	finished map[events.InstanceID]bool
	// sent are the commands that people have an acknowledgement for.
	sent map[uint64]Action
	// streams are the identities that the log knows.
	streams map[string]string
	// tampered says that an operator or a disk has changed a stream: processes may end because of it. rewound says that
	// it was the log, which is older now than what nodes were told: what was known before tells nothing.
	tampered bool
	rewound  bool
	// restored says that the log was restored, and is not adopted yet.
	restored bool
	// rereading says that the log is read once more from its start.
	rereading bool
	// damaged says that the log must not be folded now.
	damaged bool

	// configs are the values that each config had, in order.
	configs map[string][]configValue
	// outputs are the keys under which output of containers was kept.
	outputs map[string]bool

	// sick are the instances that a check did not find well.
	sick map[string]bool
	// owners are the processes of services with a topology, and did is what instances have done that they were asked.
	owners map[process]*owner
	did    map[events.InstanceID]map[events.Confirmation]bool
	// ready are the processes that were asked to make ready for their end.
	ready map[process]bool
	quiet calm
	// spoiled are the snapshots of the fold that a fault has changed.
	spoiled map[string]bool
	// answering is how engines answer.
	answering answering
	// archived is what was read of volumes, by its digest.
	archived map[string]archived
	// plans are what containers were made by, and volumes what those of hosts were filled with.
	plans   map[process]node.Plan
	volumes map[place]filled

	// told says that a coordinator's answer of its state was held against the log.
	told     bool
	follower *projections.Fold
	cursor   interface {
		Next(limit int) ([]events.Message, bool)
	}
}

type chain events.Chain

func (c chain) hash() string { return hex.EncodeToString(c[:]) }

func newJudge(w *World) *judge {
	j := &judge{
		w: w, states: map[bus.Stream]bus.State{}, sent: map[uint64]Action{}, finished: map[events.InstanceID]bool{}, sick: map[string]bool{},
		owners: map[process]*owner{}, did: map[events.InstanceID]map[events.Confirmation]bool{}, ready: map[process]bool{},
		spoiled: map[string]bool{}, plans: map[process]node.Plan{}, volumes: map[place]filled{},
		archived: map[string]archived{}, configs: map[string][]configValue{}, outputs: map[string]bool{},
	}
	j.forget()
	return j
}

// forget begins anew with a log of which nothing is known.
func (j *judge) forget() {
	j.held, j.chain, j.open = nil, chain{}, chain{}
	j.quiet, j.answering = calm{}, answering{}
	j.last, j.closed, j.round, j.epoch, j.rules, j.commands, j.mark = 0, 0, 0, 0, 0, 0, 0
	j.now, j.recovers, j.streams = time.Time{}, time.Time{}, nil
	j.leaders, j.decided = map[uint64]string{}, map[string]uint64{}
	j.cluster = newKnowledge()
	j.follower, j.cursor = projections.NewFold(), j.w.server.Cursor(bus.Log, 1)
}

func (j *judge) breach(promise, format string, args ...any) { j.w.breach(promise, format, args...) }

// logged takes messages that were stored at the end of the log.
func (j *judge) logged(messages []events.Message) {
	if j.damaged {
		j.breach("P8", "the log goes on although it is damaged")
		return
	}
	for _, m := range messages {
		j.last++
		m.Sequence = j.last
		r, err := events.ParseRecord(m)
		if err != nil {
			j.breach("P8", "the log holds what nobody can read: %v", err)
			return
		}
		switch d := r.Data.(type) {
		case events.RoundClosed:
			j.close(m, d)
		case events.RoundVoid:
			j.held = nil
			j.chain = chain(events.Chain(j.chain).Extend(m))
			j.open, j.closed = j.chain, j.last
			j.leads(d.Epoch, d.Leader)
		default:
			j.open = chain(events.Chain(j.open).Extend(m))
			j.held = append(j.held, r)
		}
	}
}

// leads holds the log to one leader for each epoch, and epochs to climb.
func (j *judge) leads(epoch uint64, leader string) {
	if known := j.leaders[epoch]; known != "" && known != leader {
		j.breach("P4", "%s and %s both wrote to the log in epoch %d", known, leader, epoch)
	}
	if epoch < j.epoch {
		j.breach("P4", "%s wrote in epoch %d after epoch %d had begun", leader, epoch, j.epoch)
	}
	j.epoch, j.leaders[epoch] = epoch, leader
}

// close judges a round, event by event, and its end.
func (j *judge) close(m events.Message, d events.RoundClosed) {
	if d.Round != j.round+1 {
		j.breach("P4", "round %d follows round %d: the log has two writers", d.Round, j.round)
	}
	if chain(d.Chain) != j.open {
		j.breach("P4", "the hash of round %d does not fit its events", d.Round)
	}
	if d.Epoch > j.rules { // it may have voided a round before
		j.rules, j.began, j.before = d.Epoch, d.Now, j.stored
	}
	j.stored = time.Now()
	j.leads(d.Epoch, d.Leader)
	j.checkTime(d)
	adopted := false
	for _, r := range j.held {
		j.at = r.Time
		if !r.Time.Equal(d.Now) {
			j.breach("time", "%s in round %d is of %s, and the round of %s", r.Data.Kind().Name, d.Round, r.Time, d.Now)
		}
		switch d := r.Data.(type) {
		case events.ClusterAdopted:
			adopted = true
			j.adopted(d)
			if j.round > 0 {
				j.recovers = r.Time.Add(recoverFor)
			}
		case events.ClusterRenewed:
		default:
			j.cluster.take(j, r, d)
		}
	}
	if !adopted {
		j.checkCursor(d)
	}
	j.cluster.obliged(j)
	j.cluster.overdue(j, d.Epoch, d.Now)
	if d.Now.Sub(j.recovers) > saysWithin {
		j.cluster.forgotten(j, d.Epoch, d.Now)
	}
	j.commands = d.Commands
	j.opened = j.closed
	j.held, j.round, j.now, j.closed = nil, d.Round, d.Now, j.last
	j.chain = chain(events.Chain(j.open).Extend(m))
	j.open = j.chain
	j.checkCalm()
	j.checkAnswers()
}

// adopted follows an adoption: the commands of an inbox that is no more count no more.
func (j *judge) adopted(d events.ClusterAdopted) {
	if d.Streams[string(bus.Commands)] != j.streams[string(bus.Commands)] {
		clear(j.cluster.commands)
		clear(j.cluster.open)
		clear(j.cluster.accepted)
	}
	j.streams, j.commands, j.restored = d.Streams, d.Commands, false
}

// recoverFor is how long after an adoption nothing is placed or stopped.
const recoverFor = 15 * time.Second

// saysWithin is how long after that a node that was heard may leave it at that: then it is silent.
const saysWithin = time.Minute

// settled holds decisions on instances to wait until the nodes had their time to say what they have.
func (j *judge) settled(id events.InstanceID) {
	if j.at.Before(j.recovers) {
		j.breach("P9", "%s is decided %s before the nodes had to say what they have", id, j.recovers.Sub(j.at))
	}
}

// checkTime holds rounds to a time that never runs back and is never far ahead of the server's.
func (j *judge) checkTime(d events.RoundClosed) {
	const allowed = 8 * time.Second // 5 of skew, and the way there
	if d.Now.Before(j.now) {
		j.breach("time", "round %d runs back from %s to %s", d.Round, j.now, d.Now)
	}
	if ahead := time.Until(d.Now); ahead > allowed && d.Now.After(j.now) {
		j.breach("time", "round %d is decided %s ahead of the server's time", d.Round, ahead)
	}
}

// checkCursor holds the cursor to be that of the commands which have their outcome in this round or before.
func (j *judge) checkCursor(d events.RoundClosed) {
	if d.Commands < j.commands {
		j.breach("P2", "the cursor runs back from %d to %d", j.commands, d.Commands)
	}
	for sequence := j.commands + 1; sequence <= d.Commands; sequence++ {
		if j.cluster.commands[sequence] == nil {
			j.breach("P2", "round %d has passed command %d without an outcome", d.Round, sequence)
		}
	}
	for _, r := range j.held {
		if sequence, ok := outcomeOf(r.Data); ok && sequence > d.Commands {
			j.breach("P10", "round %d has the outcome of command %d, and its cursor stands at %d", d.Round, sequence, d.Commands)
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

// ordered takes orders that were stored. Those that were on their way as the log was restored follow rounds that are no
// more: whoever reads the log stops for them, and an operator adopts it.
func (j *judge) ordered(messages []events.Message) {
	if j.restored {
		return
	}
	for _, m := range messages {
		if m.Subject == events.OrdersEpochSubject {
			j.marked(m)
			continue
		}
		_, id, o, err := events.ParseOrder(m)
		if err != nil {
			j.breach("orders", "nobody can read an order: %v", err)
			continue
		}
		if o.Decided > j.closed {
			j.breach("orders", "the order for %s was decided at %d, and the log is closed up to %d", id, o.Decided, j.closed)
		}
		if o.Action == events.ActionForget {
			continue
		}
		if o.Decided < j.decided[m.Subject] {
			j.breach("orders", "an order for %s of %d replaces one of %d", id, o.Decided, j.decided[m.Subject])
		}
		j.decided[m.Subject] = o.Decided
		if o.Action == events.ActionStop {
			j.orderedToStop(id, o)
			continue
		}
		j.orderedToRun(id, o)
	}
}

// orderedToRun holds an order to what the log says now: that the instance shall run, and where it and its peers are.
func (j *judge) orderedToRun(id events.InstanceID, o events.Order) {
	if j.epoch < j.mark && j.closed > j.followed {
		return // the leader before has closed a round since: this one finds that with its own first, and the next mends its orders
	}
	i := j.cluster.instances[id]
	if i == nil || i.retired || i.removed {
		j.breach("orders", "%s is ordered to run, and the log has it %s", id, i)
		return
	}
	if time.Duration(o.Window) != i.window {
		j.breach("orders", "%s is ordered to run with window %s, and has %s", id, time.Duration(o.Window), i.window)
	}
	j.refills(i, o)
	if want := j.cluster.rendered(i); want != nil && (o.Spec == nil || !slices.Equal(o.Spec.Args, want)) {
		j.breach("orders", "%s is ordered to run with %+v, and the log has its addresses and its peers' as %q", id, o.Spec, want)
	}
}

func (j *judge) marked(m events.Message) {
	mark, _, err := events.DecodeAs[events.OrdersEpoch](m)
	switch {
	case err != nil:
		j.breach("orders", "nobody can read a leader's mark: %v", err)
	case mark.Closed > j.closed:
		j.breach("orders", "orders follow the log up to %d, and it is closed up to %d", mark.Closed, j.closed)
	case mark.Epoch < j.mark:
		j.breach("orders", "%s writes orders in epoch %d after those of epoch %d", mark.Leader, mark.Epoch, j.mark)
	}
	j.mark, j.followed = mark.Epoch, mark.Closed
}

// acknowledged notes a command that is stored.
func (j *judge) acknowledged(sequence uint64, a Action) { j.sent[sequence] = a }

// mayEnd reports whether a process may end by itself with this error.
func (j *judge) mayEnd(p *part, err error) bool {
	if p.name == operatorName {
		return err == nil
	}
	if errors.Is(err, errEngine) || errors.Is(err, errNoEngine) {
		return true // a node begins with asking its engine what it is
	}
	if err == nil || !j.tampered {
		return false
	}
	for _, target := range []error{
		coordinator.ErrIdentity, bus.ErrNoStream, projections.ErrChain, projections.ErrGap, projections.ErrTorn,
		projections.ErrUnknown, events.ErrMalformed, noderunner.ErrOtherCluster,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// String says for people what the log has of the instance.
func (i *instance) String() string {
	switch {
	case i == nil:
		return "not at all"
	case i.removed:
		return "as removed"
	case i.retired:
		return "as retired"
	}
	return fmt.Sprintf("on %s, %s", i.node, i.seen.Phase)
}
