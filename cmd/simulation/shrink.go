package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/world"
)

// shrinkFor bounds the search for a shorter plan.
const shrinkFor = 90 * time.Second

// explain shrinks a plan that broke a promise, and runs the shortest plan again for its transcript.
func (p *pool) explain(ctx context.Context, w *worker, plan world.Plan, r world.Result) failure {
	b := r.Broken[0]
	f := failure{Seed: plan.Seed, Promise: b.Promise, What: b.What, At: b.At.Round(time.Millisecond).String()}
	if b.Promise == promiseDeterminism || (p.output == "json" && p.saveTo == "") {
		return f
	}
	ctx, cancel := context.WithTimeout(ctx, shrinkFor)
	defer cancel()
	s := &shrinker{ctx: ctx, worker: w, promise: b.Promise}
	shortest := s.shrink(plan, b.At)
	scripted, err := w.run(task{Plan: shortest, Script: true})
	if err != nil || len(scripted.Broken) == 0 {
		return f
	}
	f.Shortest, f.Script, f.shortestBreaks = &shortest, scripted.Script, shortestBroken(scripted, b.Promise)
	return f
}

// shrinker looks for a shorter plan that breaks the same promise. It leaves out half of the actions, then quarters, and so on to single
// ones. This is delta debugging (Zeller and Hildebrandt, 2002).
type shrinker struct {
	ctx     context.Context
	worker  *worker
	promise string
}

// breaks reports whether the plan breaks the promise.
func (s *shrinker) breaks(p world.Plan) bool {
	if s.ctx.Err() != nil {
		return false
	}
	r, err := s.worker.run(task{Plan: p})
	if errors.Is(err, errCrashed) {
		return false
	}
	return err == nil && slices.ContainsFunc(r.Broken, func(b world.Breach) bool { return b.Promise == s.promise })
}

func (s *shrinker) shrink(p world.Plan, broke time.Duration) world.Plan {
	if sooner := p; broke < p.Lasts {
		sooner.Lasts = broke + time.Second
		sooner.Actions = slices.DeleteFunc(slices.Clone(p.Actions), func(a world.Action) bool { return a.At > broke })
		p = s.either(sooner, p)
	}
	for size := (len(p.Actions) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(p.Actions); {
			less := p
			less.Actions = slices.Delete(slices.Clone(p.Actions), from, min(from+size, len(p.Actions)))
			if s.breaks(less) {
				p = less
				continue
			}
			from += size
		}
	}
	p = s.sooner(p)
	for p.Coordinators > 1 && !s.names(p, "coordinator", p.Coordinators-1) {
		less := p
		less.Coordinators--
		if !s.breaks(less) {
			break
		}
		p = less
	}
	for p.Nodes > 1 && !s.names(p, "node", p.Nodes-1) {
		less := p
		less.Nodes--
		if !s.breaks(less) {
			break
		}
		p = less
	}
	return p
}

// sooner moves all actions forward, so that the first one begins soon.
func (s *shrinker) sooner(p world.Plan) world.Plan {
	const soon = time.Minute
	if len(p.Actions) == 0 || p.Actions[0].At <= soon {
		return p
	}
	by := p.Actions[0].At - soon
	moved := p
	moved.Lasts -= by
	moved.Actions = slices.Clone(p.Actions)
	for i := range moved.Actions {
		moved.Actions[i].At -= by
	}
	return s.either(moved, p)
}

// either returns the first plan if it breaks the promise, else the second.
func (s *shrinker) either(first, second world.Plan) world.Plan {
	if s.breaks(first) {
		return first
	}
	return second
}

// names reports whether an action names this part as a target.
func (s *shrinker) names(p world.Plan, kind string, number int) bool {
	name := world.Name(kind, number)
	return slices.ContainsFunc(p.Actions, func(a world.Action) bool {
		return slices.ContainsFunc(a.Targets, func(t string) bool { return strings.EqualFold(t, name) })
	})
}
