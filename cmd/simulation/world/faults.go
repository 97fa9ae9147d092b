package world

import "time"

// fault is one kind of fault: how often the plan draws it, with which targets, and its effect.
type fault struct {
	kind   Kind
	weight int
	draw   func(*drawer, *Action)
	hit    func(*World, Action)
}

// faults lists all kinds of faults. Functions of their own draw those of weight 0.
var faults = []fault{
	{Crash, 6, drawCrash, hitCrash},
	{Restart, 1, func(d *drawer, a *Action) { a.Targets = []string{d.process()} }, hitRestart},
	{Freeze, 2, func(d *drawer, a *Action) { a.Targets = []string{d.process()} }, hitFreeze},
	{ClockJump, 1, func(d *drawer, a *Action) { a.Targets = []string{d.process()} }, hitClock},
	{Partition, 2, drawHosts, hitPartition},
	{SlowNetwork, 2, drawHosts, hitSlowNetwork},
	{LeakyNetwork, 1, drawHosts, hitLeakyNetwork},
	{ServerRestart, 1, drawNothing, hitServerRestart},
	{ServerFull, 1, drawNothing, hitServerFull},
	{LostAppend, 1, drawAppend, hitLostAppend},
	{LostAnswer, 2, drawAppend, hitLostAnswer},
	{TornRound, 1, drawCoordinator, hitTornRound},
	{EngineRefuses, 1, drawEngine, hitEngine},
	{EngineFails, 2, drawEngine, hitEngine},
	{EngineHangs, 1, drawEngine, hitEngine},
	{PullFails, 1, drawPrepare, hitPoint},
	{PullSlow, 1, drawPrepare, hitPoint},
	{PortTaken, 1, drawStart, hitPoint},
	{DeafHints, 1, drawNode, hitDeafHints},
	{Exit, 3, drawContainer, hitExit},
	{Vanish, 1, drawContainer, hitVanish},
	{HostDown, 1, drawNode, hitHostDown},
	{HostWiped, 1, drawNode, hitHostWiped},
	{BadImage, 1, drawImage, hitBadImage},
	{StreamLost, 0, drawNothing, hitStreamLost},
	{LostAsRead, 0, drawNode, hitLostAsRead},
	{LogRestored, 0, drawNothing, hitLogRestored},
	{LogDamaged, 0, drawNothing, hitLogDamaged},
	{FoldSpoiled, 0, drawNothing, hitFoldSpoiled},
	{TagMoved, 0, drawNothing, hitTagMoved},
	{DiskFilled, 0, drawNothing, hitDiskFilled},
	{Emptied, 0, drawNothing, hitEmptied},
	{ReaderStalls, 0, drawProcess, hitReaderStalls},
	{ToldTwice, 0, drawProcess, hitToldTwice},
	{Leaderless, 0, drawNothing, hitLeaderless},
	{Panics, 0, drawUnit, hitPanics},
	{StaleInfo, 0, drawStaleInfo, hitStaleInfo},
	{OtherVersion, 0, drawProcess, hitOtherVersion},
}

func drawNothing(*drawer, *Action) {}

func faultOf(kind Kind) fault {
	for _, f := range faults {
		if f.kind == kind {
			return f
		}
	}
	return fault{hit: func(w *World, a Action) { w.breach("plan", "there is no fault %q", a.Kind) }}
}

// misfortune draws a fault, often a second one at the same time, and often commands that arrive meanwhile.
func (d *drawer) misfortune(at time.Duration) []Action {
	const beside, apart = 3, 3 * time.Second
	first := d.fault(at)
	actions := []Action{first}
	if d.IntN(beside) == 0 {
		if len(first.Targets) > 0 {
			d.near = first.Targets[0]
		}
		actions = append(actions, d.fault(at+d.soon(apart)))
		d.near = ""
	}
	if first.Kind == Partition {
		actions = append(actions, d.unseen(first)...)
	}
	for n := d.IntN(4); n > 0; n-- {
		actions = append(actions, d.contradiction(at+d.soon(max(first.For/2, time.Second)))...)
	}
	return actions
}

// unseen draws containers that end on unreachable hosts. Their nodes report the ends later, and the leader has no other source.
func (d *drawer) unseen(cut Action) []Action {
	var exits []Action
	for _, host := range cut.Targets {
		if !isCoordinator(host) && d.IntN(2) == 0 {
			at := cut.At + time.Duration(d.Int64N(int64(cut.For)))
			exits = append(exits, Action{At: at, Kind: Exit, Targets: []string{host}, N: d.IntN(1 << 30)})
		}
	}
	return exits
}

// fault draws a fault.
func (d *drawer) fault(at time.Duration) Action {
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	const mean = 30 * time.Second
	a := Action{At: at, For: d.soon(mean), N: d.IntN(1 << 30)}
	n := d.IntN(sum)
	for _, f := range faults {
		if n -= f.weight; n < 0 {
			a.Kind = f.kind
			f.draw(d, &a)
			break
		}
	}
	return a
}

// operator draws, for some plans, one loss of a stream or fault of the log, which an operator must repair.
func (d *drawer) operator() {
	const share, mean = 4, 20 * time.Second
	if d.IntN(share) > 0 {
		return
	}
	d.plan.Actions = append(d.plan.Actions, Action{
		At:   d.plan.Lasts/4 + time.Duration(d.Int64N(int64(d.plan.Lasts/2))),
		Kind: []Kind{StreamLost, StreamLost, LogRestored, LogDamaged, LogDamaged}[d.IntN(5)], For: d.soon(mean), N: d.IntN(1 << 30),
	})
}

// lostAsRead draws, for some plans that need no operator yet, the loss of the orders just before a node reads them.
func (d *drawer) lostAsRead() {
	const share, mean = 3, 20 * time.Second
	for _, a := range d.plan.Actions {
		if a.Kind == StreamLost || a.Kind == LogRestored || a.Kind == LogDamaged {
			return
		}
	}
	if d.IntN(share) > 0 {
		return
	}
	d.plan.Actions = append(d.plan.Actions, Action{
		At:   d.plan.Lasts/4 + time.Duration(d.Int64N(int64(d.plan.Lasts/2))),
		Kind: LostAsRead, Targets: []string{d.node()}, For: d.soon(mean),
	})
}

// tags draws, for some plans, when a tag moves to another image, each time on some of the hosts. Hosts that have pulled the tag before keep
// the earlier image.
func (d *drawer) tags() []Action {
	const share, mean = 3, 10 * time.Minute
	var moves []Action
	if d.IntN(share) > 0 {
		return moves
	}
	for at := d.soon(time.Minute); at < d.plan.Lasts; at += d.soon(mean) {
		moves = append(moves, Action{At: at, Kind: TagMoved, Targets: d.hosts(), N: d.IntN(1 << 30)})
	}
	return moves
}

// worse draws a bad network and commands around the loss of a stream. Messages sent before the loss then arrive after it, or never.
func (d *drawer) worse(loss Action) []Action {
	const mean, before, asked = 40 * time.Second, 10 * time.Second, 3 * time.Second
	var actions []Action
	for _, kind := range []Kind{SlowNetwork, LeakyNetwork} {
		if d.IntN(4) > 0 {
			actions = append(actions, Action{
				At: loss.At - d.soon(before), Kind: kind, Targets: d.hosts(), For: d.soon(mean), N: d.IntN(1 << 30),
			})
		}
	}
	if d.IntN(2) == 0 {
		crash := Action{At: loss.At - d.soon(before), Kind: Crash, N: d.IntN(1 << 30)}
		drawCrash(d, &crash)
		actions = append(actions, crash)
	}
	for n := d.IntN(5); n > 0; n-- {
		actions = append(actions, d.sensible(loss.At-d.soon(asked)))
	}
	return actions
}
