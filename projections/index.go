package projections

import "github.com/rookery-project/rookery/events"

// index is a set of services with one property. After each event about a service, Apply checks the service's properties again.
type index int

const (
	short index = iota
	global
	jobs
	operating
	repeating
	losing
	crashed
	indexCount
)

// indexes define the property of each index.
var indexes = [indexCount]func(*Service) bool{
	short:     func(s *Service) bool { return s.Lacks() || s.Rolling() },
	global:    func(s *Service) bool { return s.Revision != 0 && s.Current().Spec.Global() },
	jobs:      func(s *Service) bool { return s.Job != nil },
	operating: func(s *Service) bool { return s.Operation != nil },
	repeating: func(s *Service) bool { return s.Revision != 0 && s.Current().Spec.Snapshot != nil },
	losing:    (*Service).Loses,
	crashed:   (*Service).anyWaits,
}

// index puts the service into the indexes whose property it has, and takes it out of all others.
func (c *Cluster) index(id events.ServiceID) {
	s := c.Service(id)
	if s == nil {
		for _, among := range c.among {
			delete(among, id)
		}
		return
	}
	for of, holds := range indexes {
		bit := uint8(1) << of
		switch is := holds(s); {
		case is == (s.indexed&bit != 0):
		case is:
			s.indexed |= bit
			c.among[of][id] = struct{}{}
		default:
			s.indexed &^= bit
			delete(c.among[of], id)
		}
	}
	s.mayWait = s.indexed&(1<<crashed) != 0
}

// Short returns, in no particular order, the services that lack an instance, or have an instance of an earlier revision.
func (c *Cluster) Short() map[events.ServiceID]struct{} { return c.among[short] }

// Global returns, in no particular order, the services of mode global.
func (c *Cluster) Global() map[events.ServiceID]struct{} { return c.among[global] }

// Jobs returns, in no particular order, the services of mode job.
func (c *Cluster) Jobs() map[events.ServiceID]struct{} { return c.among[jobs] }

// Operating returns, in no particular order, the services with an operation.
func (c *Cluster) Operating() map[events.ServiceID]struct{} { return c.among[operating] }

// Repeating returns, in no particular order, the services whose spec schedules snapshots.
func (c *Cluster) Repeating() map[events.ServiceID]struct{} { return c.among[repeating] }

// Losing returns, in no particular order, the services with lost instances.
func (c *Cluster) Losing() map[events.ServiceID]struct{} { return c.among[losing] }

// Crashed returns, in no particular order, the services with a slot that waits because its last instance used up its restarts.
func (c *Cluster) Crashed() map[events.ServiceID]struct{} { return c.among[crashed] }
