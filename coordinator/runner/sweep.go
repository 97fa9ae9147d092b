package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const (
	// sweepEvery is how often the leader looks for objects that no snapshot names.
	sweepEvery = time.Hour
	// mostSwept bounds the objects that go at once.
	mostSwept = 100
)

// sweep removes objects that no snapshot names any more. Where that fails it is tried again later: they take room, and nothing
// else.
func (l *leader) sweep(now time.Time) {
	if now.Sub(l.sweptAt) < sweepEvery {
		return
	}
	l.sweptAt = now
	if err := l.sweepObjects(l.Bus.Objects(bus.ObjectsVolumes)); err != nil {
		l.Log.Warn("cannot remove what no snapshot names", "error", err)
	}
}

func (l *leader) sweepObjects(objects bus.Objects) error {
	call, cancel := context.WithTimeout(l.ctx, callTimeout)
	defer cancel()
	all, err := objects.All(call)
	if err != nil {
		return err
	}
	for _, o := range Unnamed(l.cluster, all, l.now()) {
		if err := objects.Delete(call, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// Unnamed returns the objects, no more than go at once and the oldest first, that no snapshot of the state names, nor one that is
// being taken, and that are so old that none will: a node stores anew what is half as old.
func Unnamed(c *projections.Cluster, objects []bus.Object, now time.Time) []bus.Object {
	named := map[string]bool{}
	for _, s := range c.Services {
		for _, kept := range s.Snapshots.Kept {
			nameAll(named, kept.Volumes)
		}
		if s.Operation != nil {
			nameAll(named, s.Operation.Exports)
		}
	}
	var unnamed []bus.Object
	for _, o := range objects {
		if !named[o.Name] && now.Sub(o.Stored) >= bus.SweptAfter {
			unnamed = append(unnamed, o)
		}
	}
	slices.SortFunc(unnamed, func(a, b bus.Object) int { return cmp.Or(a.Stored.Compare(b.Stored), cmp.Compare(a.Name, b.Name)) })
	return unnamed[:min(len(unnamed), mostSwept)]
}

func nameAll(named map[string]bool, volumes map[uint32][]events.Export) {
	for _, exports := range volumes {
		for _, e := range exports {
			named[e.Digest] = true
		}
	}
}
