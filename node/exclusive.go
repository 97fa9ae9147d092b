package node

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Guarded is a container that has to have ended when its window has passed since its node was last heard.
type Guarded struct {
	Container Container
	Window    time.Duration
}

// Guarded returns the container that runs as its host is to guard it, also while it stops; false where it need not be.
func (v View) Guarded() (Guarded, bool) {
	if v.Order.Window == 0 || !v.Container.runs() {
		return Guarded{}, false
	}
	return Guarded{*v.Container, time.Duration(v.Order.Window)}, true
}

// Exclusive reports whether the instance may run only as long as its node is heard.
func (v View) Exclusive() bool { return v.Order.Action == events.ActionRun && v.Order.Window > 0 }

// afterKill is what a stop takes beyond the grace.
const afterKill = time.Second

// yieldsAt is when an exclusive instance is to be stopped unless the node is heard before: so long before its window has
// passed that it has its grace, and a quarter of the window at most. Whatever is left then is killed by the host.
func (v View) yieldsAt() time.Time {
	window := time.Duration(v.Order.Window)
	return v.Heard.Add(window - min(v.StopGrace()+afterKill, window/4))
}

// yields reports whether an exclusive instance must not run now. What ran before this process was heard is guarded by its host since
// the process before.
func (v View) yields(now time.Time) bool {
	return v.Exclusive() && !v.Heard.IsZero() && !now.Before(v.yieldsAt())
}

// Inherited returns the view of an exclusive instance that was placed while another machine was the node, before this one joined at a
// time. What runs there has ended only when its window has passed, for no heartbeat from there was answered since. Until then it is
// neither begun here nor said to be removed.
func (v View) Inherited(joined time.Time) View {
	if v.Container.runs() {
		return v
	}
	v.Elsewhere = joined.Add(time.Duration(v.Order.Window) + events.WindowMargin)
	if v.Order.Action == events.ActionRun && v.Phase < events.PhaseOffline {
		return v.offline(events.OfflineDisconnected, nil, "another machine was the node, and may run it still")
	}
	return v
}

// elsewhere reports whether another machine may run the instance.
func (v View) elsewhere(now time.Time) bool { return !v.Container.runs() && now.Before(v.Elsewhere) }

// bounded is the next step of an instance that shall run. One that is exclusive begins nothing without its node being heard, and is
// stopped in time.
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
		return StepNone, time.Time{} // yet another may be the node by now
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

// disconnected follows the end of an exclusive instance whose node was not heard: that is no failure of its own.
func (v View) disconnected(code *int32) View {
	return v.offline(events.OfflineDisconnected, code, "its node was not heard, and another may run it by now")
}
