package projections

import (
	"slices"
	"time"
)

// Evictions says whether what is on silent nodes is given up.
type Evictions struct {
	// Paused says that so many nodes are silent that nothing is lost.
	Paused bool `json:",omitzero"`
	// ResumedAt is when that was last no longer so; zero for never.
	ResumedAt time.Time `json:",omitzero"`
}

// Loses reports whether instances of the service are lost.
func (s *Service) Loses() bool { return s.lost > 0 }

// LostAfter is how long a node is silent before instances of the service there are lost.
func (c *Cluster) LostAfter(s *Service) time.Duration {
	if r := s.Current(); r != nil {
		if own := r.Spec.Disconnects().LostAfter; own > 0 {
			return time.Duration(own)
		}
	}
	return time.Duration(c.Policy.Liveness.WithDefaults().LostAfter)
}

// back has the node be heard. What is lost of it is to be listed first.
func (n *Node) back() {
	n.Silent, n.Lost = false, false
	n.Unlisted = n.Unlisted || n.lost > 0
}

// Tells reports whether the node is heard and has said what it has.
func (n *Node) Tells() bool { return n.Heard() && !n.Unlisted }

// lose has the instance serve no more, and its slot be vacant where another may stand in for it.
func (c *Cluster) lose(i *Instance) {
	s := c.Services[i.ID.Service]
	slot := s.Slots[i.ID.Ordinal]
	s.countServing(i, -1)
	if i.Retired() == "" {
		s.servesNoMore(i)
	}
	replaced := slot.Current == i && s.replaceable(i)
	i.Lost = true
	c.node(i.Node).lost++
	s.lost++
	if replaced {
		s.leave(i)
		slot.aside(func(a *Aside) { a.Away = append(a.Away, i) })
	}
	s.countAbsent(i, false)
}

// replaceable reports whether another instance may stand in for this one while nobody knows what became of it.
func (s *Service) replaceable(i *Instance) bool {
	spec := &s.Revisions[i.Revision].Spec
	return s.Job == nil && !s.Current().Spec.Global() && !s.Alone(i.ID.Ordinal) && spec.Topology == nil && !spec.KeepsVolumes()
}

// comeBack has the instance be known again. One that is away is what its slot has again, where nothing stands in for it.
func (c *Cluster) comeBack(i *Instance, now time.Time) {
	s := c.Services[i.ID.Service]
	slot := s.Slots[i.ID.Ordinal]
	away := s.isAway(i)
	if away && slot.Current != nil {
		return
	}
	if s.isAbsent(i) {
		s.absent--
	}
	c.found(i)
	if away {
		slot.forgetAway(i)
		slot.Current = i
		s.filled++
	}
	s.countServing(i, 1)
	s.serves(i, now)
}

// found has the instance be lost no more, because it is known again or gone.
func (c *Cluster) found(i *Instance) {
	if !i.Lost {
		return
	}
	i.Lost = false
	c.node(i.Node).lost--
	c.Services[i.ID.Service].lost--
}

func (s *Service) isAway(i *Instance) bool {
	return slices.Contains(s.Slots[i.ID.Ordinal].Beside().Away, i)
}

// isAbsent reports whether the instance is lost and nobody waits for it: it shall stop, or may have a replacement.
func (s *Service) isAbsent(i *Instance) bool { return i.Lost && (i.Retired() != "" || s.isAway(i)) }

// countAbsent follows an instance that was absent before, or not.
func (s *Service) countAbsent(i *Instance, before bool) {
	if !before && s.isAbsent(i) {
		s.absent++
	}
}

func (s *Slot) forgetAway(i *Instance) {
	if s.Aside != nil {
		s.aside(func(a *Aside) { a.Away = but(a.Away, i) })
	}
}

// but returns the instances without one; nil for none.
func but(instances []*Instance, without *Instance) []*Instance {
	if left := slices.DeleteFunc(instances, func(i *Instance) bool { return i == without }); len(left) > 0 {
		return left
	}
	return nil
}
