package operation

import (
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// GoBack returns the changes that bring the service back to an earlier revision and scale.
func GoBack(c *projections.Cluster, s *projections.Service, revision uint64, scale uint32) []events.Data {
	var changes []events.Data
	if s.Dropped || (s.Revision != revision && (s.Rolling() || !slices.Contains(s.Alike(revision), s.Revision))) {
		changes = append(changes, Repeat(s, revision))
	}
	spec := &s.Revisions[revision].Spec
	if spec.Global() {
		return changes
	}
	return append(changes, Scaled(c, s, spec, scale)...)
}

// Repeat returns a new revision with the spec of an earlier one. Instances that match it stay; a job starts over.
func Repeat(s *projections.Service, of uint64) events.ServiceRevised {
	r := s.Revisions[of]
	again := events.ServiceRevised{Revision: s.Revision + 1, Spec: r.Spec, Hash: r.Hash, Of: of}
	if !r.Spec.IsJob() {
		again.Keeps = s.Alike(of)
	}
	return again
}

// Scaled returns the change that gives the service this scale under its next spec; nothing where it has that scale.
func Scaled(c *projections.Cluster, s *projections.Service, next *events.Spec, scale uint32) []events.Data {
	if s.Scale == scale {
		return nil
	}
	return []events.Data{events.ServiceScaled{Scale: scale, Skips: skips(c, s, next, scale)}}
}

// skips returns the ordinals that the service leaves out below its highest one. A smaller scale drops slots that do not serve first, as swarmkit
// does, and then the highest ordinals; a larger scale brings back the lowest ordinals first.
func skips(c *projections.Cluster, s *projections.Service, next *events.Spec, scale uint32) events.Ordinals {
	switch {
	case next.Positional() || scale == 0:
		return nil
	case scale > s.Scale:
		return s.Skips[min(len(s.Skips), int(scale-s.Scale)):]
	}
	var serve, down, skipped events.Ordinals
	for o := range s.Ordinals() {
		switch {
		case !s.Wants(o):
		case int(o) < len(s.Slots) && slotServes(c, s.Slots[o]):
			serve = append(serve, o)
		default:
			down = append(down, o)
		}
	}
	kept := append(serve, down...)[:scale]
	slices.Sort(kept)
	for next := uint32(0); len(kept) > 0; next++ {
		if kept[0] == next {
			kept = kept[1:]
		} else {
			skipped = append(skipped, next)
		}
	}
	return skipped
}

func slotServes(c *projections.Cluster, slot *projections.Slot) bool {
	return (slot.Current != nil && c.Serves(slot.Current)) || (slot.Next != nil && c.Serves(slot.Next))
}
