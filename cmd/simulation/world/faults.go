package world

import "time"

// points are those at which a process of each kind can be hit.
var (
	coordinatorPoints = []Point{AppendLog, AppendOrders, WriteBucket, LookAtStream, ReadBucket, ReadOrders, Tell}
	nodePoints        = []Point{PublishStatus, Beat, ReadOrders, Prepare, Start, Stop, Remove, List, Inspect}
	enginePoints      = []Point{Prepare, Start, Stop, Remove, List, Inspect}
)

// common are the faults that are drawn at any time, the frequent ones more than once.
var common = []Kind{
	Crash, Crash, Crash, Crash, Crash, Crash, Restart, Freeze, Freeze, Partition, Partition, SlowNetwork, LeakyNetwork,
	ServerRestart, ServerFull, LostAppend, LostAnswer, LostAnswer, TornRound, ClockJump,
	EngineRefuses, EngineFails, EngineFails, EngineHangs, PullFails, PullSlow, PortTaken, DeafHints,
	Exit, Exit, Exit, Vanish, HostDown, HostWiped, BadImage,
}

// fault draws a fault.
func (d *drawer) fault(at time.Duration) Action {
	a := Action{At: at, Kind: common[d.IntN(len(common))], For: d.soon(30 * time.Second), N: d.IntN(1 << 30)}
	switch a.Kind {
	case Crash:
		a.Targets, a.Before = []string{d.process()}, d.IntN(2) == 0
		points := nodePoints
		if isCoordinator(a.Targets[0]) {
			points = coordinatorPoints
		}
		if d.IntN(5) > 0 {
			a.Point = points[d.IntN(len(points))]
		}
		a.For = d.soon(5 * time.Second)
	case Restart, Freeze:
		a.Targets = []string{d.process()}
	case Partition, SlowNetwork, LeakyNetwork:
		a.Targets = d.hosts()
	case LostAppend, LostAnswer, TornRound:
		a.Targets, a.For = []string{d.coordinator()}, 0
		a.Point = AppendLog
		if a.Kind != TornRound && d.IntN(3) == 0 {
			a.Point = AppendOrders
		}
	case ClockJump:
		a.Targets = []string{d.process()}
	case EngineRefuses, EngineFails, EngineHangs:
		a.Targets, a.Point = []string{d.node()}, enginePoints[d.IntN(len(enginePoints))]
	case PullFails, PullSlow:
		a.Targets, a.Point = []string{d.node()}, Prepare
	case PortTaken:
		a.Targets, a.Point = []string{d.node()}, Start
	case DeafHints, HostDown, HostWiped:
		a.Targets = []string{d.node()}
	case Exit, Vanish:
		a.Targets, a.For = []string{d.node()}, 0
	case BadImage:
		a.For = d.soon(4 * time.Minute)
	}
	return a
}

// operator draws, for a few plans, the one time that a stream is lost.
func (d *drawer) operator() {
	const share = 12
	if d.plan.Lasts < 10*time.Minute || d.IntN(share) > 0 {
		return
	}
	a := Action{
		At:   d.plan.Lasts/4 + time.Duration(d.Int64N(int64(d.plan.Lasts/2))),
		Kind: []Kind{StreamLost, LogRestored, LogDamaged}[d.IntN(3)], For: d.soon(20 * time.Second), N: d.IntN(1 << 30),
	}
	d.plan.Actions = append(d.plan.Actions, a)
}
