package node

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Guarded is a container that must end before its window has passed since its node's last answered heartbeat.
type Guarded struct {
	Container Container
	Window    time.Duration
}

// Guarded returns the running container that the host must guard, also while it stops; false if the host need not guard it.
func (v View) Guarded() (Guarded, bool) {
	if v.Order.Window == 0 || !v.Container.runs() {
		return Guarded{}, false
	}
	return Guarded{*v.Container, time.Duration(v.Order.Window)}, true
}

// Exclusive reports whether the instance may run only while the leader answers its node's heartbeats.
func (v View) Exclusive() bool { return v.Order.Action == events.ActionRun && v.Order.Window > 0 }

// afterKill is how long a stop takes beyond the grace.
const afterKill = time.Second

// yieldsAt is when the node must stop an exclusive instance, unless the leader answers a heartbeat before. It lies before the end of
// the window by the instance's grace, but by at most a quarter of the window. The host kills what still runs when the window ends.
func (v View) yieldsAt() time.Time {
	window := time.Duration(v.Order.Window)
	return v.Heard.Add(window - min(v.StopGrace()+afterKill, window/4))
}

// yields reports whether an exclusive instance must not run now. Before the first answer to a heartbeat of this process, it may run:
// the host still guards it for the earlier process.
func (v View) yields(now time.Time) bool {
	return v.Exclusive() && !v.Heard.IsZero() && !now.Before(v.yieldsAt())
}

// Inherited returns the view of an exclusive instance that was placed here while another machine was this node. joined is when this
// machine joined as the node. Since then the leader has answered no heartbeat of the other machine, so the instance has ended there
// once its window has passed. Until then this node neither starts it nor reports it as removed.
func (v View) Inherited(joined time.Time) View {
	if v.Container.runs() {
		return v
	}
	v.Elsewhere = joined.Add(time.Duration(v.Order.Window) + events.WindowMargin)
	if v.Order.Action == events.ActionRun && v.Phase < events.PhaseOffline {
		return v.offline(events.OfflineDisconnected, nil, "another machine was this node before and may still run it")
	}
	return v
}

// elsewhere reports whether another machine may run the instance.
func (v View) elsewhere(now time.Time) bool { return !v.Container.runs() && now.Before(v.Elsewhere) }

// bounded is the next step of an instance that must run. An exclusive one starts only while the leader answers the node's heartbeats,
// and the node stops it before its window ends.
func (v View) bounded(now time.Time) (Step, time.Time) {
	step, until := v.nextRun(now)
	if !v.Exclusive() {
		return step, until
	}
	runs, begins := v.Container.runs(), step == StepPrepare || step == StepStart
	switch yields := v.yields(now); {
	case begins && v.elsewhere(now):
		return StepWait, v.Elsewhere
	case begins && v.Heard.Before(v.Elsewhere):
		return StepNone, time.Time{} // a third machine may be the node by now
	case yields && runs && now.Before(v.RetryAt):
		return StepWait, v.RetryAt
	case yields && runs:
		return StepStop, time.Time{}
	case begins && (yields || v.Heard.IsZero()):
		return StepNone, time.Time{}
	case runs && !v.Heard.IsZero() && (step == StepNone || (step == StepWait && until.After(v.yieldsAt()))):
		return StepWait, v.yieldsAt()
	}
	return step, until
}

// disconnected returns the view after an exclusive instance ended because no heartbeat of its node was answered. That end does not
// count as a failure of the instance.
func (v View) disconnected(code *int32) View {
	return v.offline(events.OfflineDisconnected, code, "its node got no answer to its heartbeats, so another node may run it by now")
}
