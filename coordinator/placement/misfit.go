package placement

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Misfits returns the instances on the node that placement would not put there as the node is now, and whether there are any.
func Misfits(c *projections.Cluster, n *projections.Node) (events.NodeMisfits, bool) {
	m := events.NodeMisfits{Over: over(n)}
	for _, id := range slices.SortedFunc(maps.Keys(c.Services), events.ServiceID.Compare) {
		s := c.Services[id]
		if s.Dropped || s.Current().Spec.Global() {
			continue // global services follow the nodes by themselves
		}
		for _, slot := range s.Slots {
			for _, i := range [...]*projections.Instance{slot.Current, slot.Next} {
				if i != nil && i.Node == n.Name {
					note(&m, c, n, i)
				}
			}
		}
	}
	return m, m.Total > 0 || m.Over != events.Resources{}
}

func note(m *events.NodeMisfits, c *projections.Cluster, n *projections.Node, i *projections.Instance) {
	d := demand{spec: &c.Services[i.ID.Service].Revisions[i.Revision].Spec, policy: &c.Policy}
	misfit := events.Misfit{
		Namespace: i.ID.Service.Namespace, Name: i.ID.Service.Name, Ordinal: i.ID.Ordinal, Generation: i.ID.Generation,
	}
	switch {
	case !hasLabels(n.Facts.Labels, d.spec.NodeSelector):
		misfit.Filter = events.MisfitNodeSelector
	case !d.policy.ZoneAffinity.Soft && !d.wantsZone(n.Facts.Zone):
		misfit.Filter = events.MisfitZone
	default:
		return
	}
	m.Total++
	if len(m.Instances) < events.MaxMisfits {
		m.Instances = append(m.Instances, misfit)
	}
}

// over returns what is set aside on the node beyond its capacity.
func over(n *projections.Node) events.Resources {
	has, taken := n.Allocatable(), n.Reserved()
	var over events.Resources
	if n.Facts.Capacity.CPU > 0 && taken.CPU > has.CPU {
		over.CPU = taken.CPU - has.CPU
	}
	if n.Facts.Capacity.Memory > 0 && taken.Memory > has.Memory {
		over.Memory = taken.Memory - has.Memory
	}
	if n.Facts.Capacity.Disk > 0 && taken.Disk > has.Disk {
		over.Disk = taken.Disk - has.Disk
	}
	return over
}
