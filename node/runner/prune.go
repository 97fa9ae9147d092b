package runner

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// prune removes unused images. If it fails, the node tries again the next time.
func (a *Agent) prune(ctx context.Context) {
	needed := a.neededImages()
	call, cancel := context.WithTimeout(ctx, pruneTimeout)
	a.beside(ctx, func() func() {
		defer cancel()
		err := a.Prune(call, a.owner, needed)
		return func() {
			a.alarms[alarmPrune] = time.Now().Add(pruneEvery)
			if err != nil {
				a.Log.Warn("cannot remove unused images", "error", err)
			}
		}
	})
}

// neededImages returns the images that orders to run name, sorted and without duplicates. It includes the images of instances that have
// no container now.
func (a *Agent) neededImages() []string {
	images := map[string]struct{}{}
	for _, in := range a.instances {
		spec := in.view.Order.Spec
		if spec == nil || in.view.Order.Action != events.ActionRun {
			continue
		}
		stand := in.view.PlanImages()
		for _, name := range spec.Images() {
			images[cmp.Or(stand[name], name)] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(images))
}
