package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// demand is what the next instance of a service asks of a node.
type demand struct {
	spec   *events.Spec
	policy *events.Policy
	// reserves is what is set aside on a node without a default. Differs says that there are others.
	reserves events.Resources
	differs  bool
	// ports counts those that the node picks, and fixed are those that must be certain ones.
	ports int
	fixed []events.HostPort
	// asked says that the spec says what is spread over the zones, spreads that these are held to the policy's skew, and gathers that those
	// with instances of the service are liked better.
	asked, spreads, gathers bool
}

func demandOf(s *projections.Service, r *projections.Revision, p *events.Policy, differs bool) demand {
	spec := &r.Spec
	several, asked := s.Scale > 1, len(spec.Spread) > 0 && !spec.Global()
	d := demand{
		spec: spec, policy: p, reserves: spec.Reserves(events.Resources{}, p), differs: differs,
		asked:   asked,
		spreads: !spec.Global() && (asked || (p.Spread.Enabled && (!several || !p.Spread.IgnoreScaled))),
		gathers: !spec.Global() && several && p.SameZone > 0,
	}
	d.gathers = d.gathers && !d.spreads // apart or together, not both
	for _, port := range spec.Ports {
		if port.HostPort > 0 {
			d.fixed = append(d.fixed, port.OnHost())
		} else {
			d.ports++
		}
	}
	return d
}

// asks returns what is set aside for the instance on this node. It costs nothing where no node has a default.
func (d *demand) asks(n *projections.Node) events.Resources {
	if !d.differs {
		return d.reserves
	}
	return d.spec.Reserves(n.Facts.Default, d.policy)
}

// apart reports whether instances of a service with these labels must not run beside one of this.
func (d *demand) apart(labels map[string]string) bool {
	return events.MatchAll(d.spec.AntiAffinity, labels)
}
