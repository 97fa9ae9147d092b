package runner

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// looks are the looks at all that the engine has: one at a time, and one more where that was asked for meanwhile.
type looks struct {
	underWay bool
	again    bool
}

// errNoHints is why a watch of the engine is given up.
var errNoHints = errors.New("the engine has not begun with its hints in time")

// sight is when the engine was asked: the time, and the turn of the loop, which tells apart what has the same time.
type sight struct {
	began time.Time
	turn  uint64
}

// look asks the engine for all that it has.
func (a *Agent) look(ctx context.Context) {
	if a.looks.underWay {
		a.looks.again = true
		return
	}
	a.looks = looks{underWay: true}
	a.alarms[alarmLook] = time.Time{}
	s := sight{time.Now(), a.turn}
	call, cancel := context.WithTimeout(ctx, a.AnswerTime)
	a.beside(ctx, func() func() {
		defer cancel()
		containers, err := a.Engine.List(call, a.owner)
		return func() { a.looked(ctx, s, containers, err) }
	})
}

func (a *Agent) looked(ctx context.Context, s sight, containers []node.Container, err error) {
	a.looks.underWay = false
	if a.began {
		a.alarms[alarmLook] = s.began.Add(lookEvery)
	}
	a.answered(time.Since(s.began), err)
	switch {
	case err == nil:
		a.foundAll(ctx, s, containers)
		a.measure(ctx)
		if !a.began {
			a.catchUp(ctx)
		}
	case !a.began:
		a.cannotBegin(err)
	default:
		a.Log.Warn("cannot list containers", "error", err)
	}
	if a.looks.again {
		a.look(ctx)
	}
}

// foundAll takes what the engine has of each instance, in order: the engine lists in none.
func (a *Agent) foundAll(ctx context.Context, s sight, containers []node.Container) {
	have := make(map[events.InstanceID]*node.Container, max(len(containers), len(a.instances)))
	for id := range a.instances {
		have[id] = nil
	}
	for i, c := range containers {
		have[c.Instance] = &containers[i]
	}
	for _, id := range slices.SortedFunc(maps.Keys(have), events.InstanceID.Compare) {
		a.found(ctx, s, a.instance(id), have[id])
	}
}

// found takes what the engine has of one instance. What was asked before the end of its last step, or comes while one
// is under way, may be from before the step's effect: the next look tells.
func (a *Agent) found(ctx context.Context, s sight, in *instance, c *node.Container) {
	if in.busy {
		return
	}
	if s.turn >= in.ended {
		a.change(ctx, in, in.view.Found(c, s.began, time.Now()))
	}
	a.settle(ctx, in)
}

// watch turns the engine's hints into looks, beginning again where they end. One that has not begun within the answer time
// is given up: hints may have ended because the engine hangs.
func (a *Agent) watch(ctx context.Context) {
	watching, end := context.WithCancelCause(ctx)
	late, began := time.AfterFunc(a.AnswerTime, func() { end(errNoHints) }), false
	a.beside(ctx, func() func() {
		defer end(nil)
		defer late.Stop()
		err := a.Engine.Watch(watching, a.owner,
			func() {
				late.Stop()
				began = true
				a.tell(ctx, func() { a.look(ctx) })
			},
			func(id events.InstanceID) { a.tell(ctx, func() { a.hint(ctx, id) }) })
		return func() {
			a.Log.Warn("hints of the engine ended", "error", cmp.Or(err, context.Cause(watching)))
			a.alarms[alarmWatch] = time.Now().Add(watchAgain)
			if began {
				a.look(ctx) // mostly the engine's service has ended
			}
		}
	})
}

func (a *Agent) hint(ctx context.Context, id events.InstanceID) {
	if in := a.instances[id]; in != nil {
		a.inspect(ctx, in)
	}
}

// inspect asks the engine about one instance: at once, or after the step or the question that is under way.
func (a *Agent) inspect(ctx context.Context, in *instance) {
	in.hinted = in.busy || in.inspecting
	if in.hinted {
		return
	}
	in.inspecting = true
	s, id := sight{time.Now(), a.turn}, in.view.Instance
	call, cancel := context.WithTimeout(ctx, a.AnswerTime)
	a.beside(ctx, func() func() {
		defer cancel()
		c, err := a.Engine.Inspect(call, a.owner, id)
		return func() { a.inspected(ctx, s, in, c, err) }
	})
}

func (a *Agent) inspected(ctx context.Context, s sight, in *instance, c *node.Container, err error) {
	in.inspecting = false
	if in.hinted {
		a.inspect(ctx, in)
	}
	if err != nil {
		a.settle(ctx, in) // the next look tells
		return
	}
	a.found(ctx, s, in, c)
}
