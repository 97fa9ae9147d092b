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

// looks are the listings of the engine's containers. There is one at a time, and another follows if one was requested meanwhile.
type looks struct {
	underWay bool
	again    bool
}

// errNoHints is why the node gives up a watch of the engine.
var errNoHints = errors.New("the engine did not begin its hints within the answer time")

// sight is when the node asked the engine: the time, and the turn of the loop, which orders questions and steps of the same time.
type sight struct {
	began time.Time
	turn  uint64
}

// look asks the engine to list all containers.
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

// foundAll handles the container of each instance, in the order of instances, because the engine lists them in any order.
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

// found handles the container of one instance, nil for none. It ignores an answer that the node asked for before the last step ended, or
// that comes during a step: the answer may be older than the step's effect. The next listing shows the effect.
func (a *Agent) found(ctx context.Context, s sight, in *instance, c *node.Container) {
	if in.busy {
		return
	}
	if s.turn >= in.ended {
		a.change(ctx, in, in.view.Found(c, s.began, time.Now()))
	}
	a.settle(ctx, in)
}

// watch asks the engine about each instance that it gets a hint of, and watches again when the hints end. It gives up a watch that has
// not begun within the answer time, because the engine may hang.
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
				a.look(ctx) // the engine's service has probably ended
			}
		}
	})
}

func (a *Agent) hint(ctx context.Context, id events.InstanceID) {
	if in := a.instances[id]; in != nil {
		a.inspect(ctx, in)
	}
}

// inspect asks the engine about one instance, at once or after the step or question that is under way.
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
		a.settle(ctx, in) // the next listing shows the container
		return
	}
	a.found(ctx, s, in, c)
}
