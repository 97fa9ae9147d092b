package runner

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

const (
	// sweepEvery is how often the leader looks for objects that no snapshot names.
	sweepEvery = time.Hour
	// sweptAtOnce bounds the objects that are removed between two rounds: the lease is short.
	sweptAtOnce = 10
	// sweepTimeout bounds the calls for that.
	sweepTimeout = time.Second
	// sweepRests is how long no object is removed after the log was adopted: the log may name fewer objects than are kept.
	sweepRests = 7 * 24 * time.Hour
)

// sweep removes objects that no snapshot names any longer, few at a time. If that fails, sweep tries again later: the objects only take up
// room.
func (l *leader) sweep(now time.Time) {
	if l.cluster.Recovering || l.now().Sub(l.cluster.AdoptedAt) < sweepRests {
		return
	}
	objects := l.Bus.Objects(bus.ObjectsVolumes)
	call, cancel := context.WithTimeout(l.ctx, sweepTimeout)
	defer cancel()
	if len(l.unnamed) == 0 && now.Sub(l.sweptAt) >= sweepEvery {
		l.sweptAt = now
		all, err := objects.All(call)
		if err != nil {
			l.Log.Warn("cannot look for objects that no snapshot names", "error", err)
			return
		}
		l.unnamed = Unnamed(l.cluster, all, l.now())
		if err := objects.Tidy(call, l.now().Add(-bus.SweptAfter)); err != nil {
			l.Log.Warn("cannot remove incomplete objects", "error", err)
		}
	}
	for _, o := range l.unnamed[:min(len(l.unnamed), sweptAtOnce)] {
		l.unnamed = l.unnamed[1:]
		if err := l.remove(call, objects, o); err != nil {
			l.Log.Warn("cannot remove an object that no snapshot names", "object", o.Name, "error", err)
			return
		}
	}
}

// remove removes the object, unless it was stored again since it was found.
func (l *leader) remove(ctx context.Context, objects bus.Objects, found bus.Object) error {
	switch now, err := objects.Stat(ctx, found.Name); {
	case errors.Is(err, bus.ErrNoKey):
		return nil
	case err != nil:
		return err
	case !now.Stored.Equal(found.Stored):
		return nil
	}
	return objects.Delete(ctx, found.Name)
}

// Unnamed returns the objects, oldest first, that may be removed. Neither a snapshot of the state names them, nor a snapshot in progress,
// nor a slot that is restored from one. They are also so old that no snapshot will: a node stores an object again once it is half as old.
func Unnamed(c *projections.Cluster, objects []bus.Object, now time.Time) []bus.Object {
	named := c.Contents()
	var unnamed []bus.Object
	for _, o := range objects {
		if !named[o.Name] && now.Sub(o.Stored) >= bus.SweptAfter {
			unnamed = append(unnamed, o)
		}
	}
	slices.SortFunc(unnamed, func(a, b bus.Object) int { return cmp.Or(a.Stored.Compare(b.Stored), cmp.Compare(a.Name, b.Name)) })
	return unnamed
}
