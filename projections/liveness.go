package projections

import (
	"slices"
	"time"
)

// Evictions says whether the coordinator declares the instances on silent nodes lost.
type Evictions struct {
	// Paused says that it does not, because too many nodes are silent at once.
	Paused bool `json:",omitzero"`
	// ResumedAt is when the last such pause ended; zero for never.
	ResumedAt time.Time `json:",omitzero"`
}

// Loses reports whether instances of the service are lost.
func (s *Service) Loses() bool { return s.lost > 0 }

// LostAfter returns how long a node must be silent before the service's instances there are lost.
func (c *Cluster) LostAfter(s *Service) time.Duration {
	if r := s.Current(); r != nil {
		if own := r.Spec.Disconnects().LostAfter; own > 0 {
			return time.Duration(own)
		}
	}
	return time.Duration(c.Policy.Liveness.WithDefaults().LostAfter)
}

// back notes that the node sends heartbeats again. A node with lost instances must list its instances first.
func (n *Node) back() {
	n.Silent, n.Lost = false, false
	n.Unlisted = n.Unlisted || n.lost > 0
}

// Tells reports whether the node sends heartbeats and has listed its instances.
func (n *Node) Tells() bool { return n.Live() && !n.Unlisted }

// lose notes that the instance is lost and no longer serves. It vacates the slot where a replacement is allowed.
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
		slot.aside(func(a *Aside) { a.Disconnected = append(a.Disconnected, i) })
	}
	s.countAbsent(i, false)
}

// replaceable reports whether another instance may replace this one while its node does not report it.
func (s *Service) replaceable(i *Instance) bool {
	spec := &s.Revisions[i.Revision].Spec
	return s.Job == nil && !s.Current().Spec.Global() && !s.Alone(i.ID.Ordinal) && spec.Topology == nil && !spec.KeepsVolumes()
}

// comeBack notes that the node reports a lost instance again. A disconnected instance gets its slot back, unless a replacement has it.
func (c *Cluster) comeBack(i *Instance, now time.Time) {
	s := c.Services[i.ID.Service]
	slot := s.Slots[i.ID.Ordinal]
	disconnected := s.isDisconnected(i)
	if disconnected && slot.Current != nil {
		return
	}
	if s.isAbsent(i) {
		s.absent--
	}
	c.found(i)
	if disconnected {
		slot.forgetDisconnected(i)
		slot.Current = i
		s.filled++
	}
	s.countServing(i, 1)
	s.serves(i, now)
}

// found notes that the instance is no longer lost: its node reports it again, or it is gone.
func (c *Cluster) found(i *Instance) {
	if !i.Lost {
		return
	}
	i.Lost = false
	c.node(i.Node).lost--
	c.Services[i.ID.Service].lost--
}

func (s *Service) isDisconnected(i *Instance) bool {
	return slices.Contains(s.Slots[i.ID.Ordinal].Beside().Disconnected, i)
}

// isAbsent reports whether the instance is lost and the service does not wait for it: it must stop, or it may have a replacement.
func (s *Service) isAbsent(i *Instance) bool {
	return i.Lost && (i.Retired() != "" || s.isDisconnected(i))
}

// countAbsent counts the instance if it is absent now and was not before.
func (s *Service) countAbsent(i *Instance, before bool) {
	if !before && s.isAbsent(i) {
		s.absent++
	}
}

func (s *Slot) forgetDisconnected(i *Instance) {
	if s.Aside != nil {
		s.aside(func(a *Aside) { a.Disconnected = but(a.Disconnected, i) })
	}
}

// but returns the instances without the given one; nil if none is left.
func but(instances []*Instance, without *Instance) []*Instance {
	if left := slices.DeleteFunc(instances, func(i *Instance) bool { return i == without }); len(left) > 0 {
		return left
	}
	return nil
}
