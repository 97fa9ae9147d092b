package placement

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// demand is what the next instance of a service requires of a node.
type demand struct {
	spec   *events.Spec
	policy *events.Policy
	// reserves is what a node without a default sets aside. differs says that other nodes have defaults.
	reserves events.Resources
	differs  bool
	// ports counts the ports that the node picks, and fixed are those with a given number.
	ports int
	fixed []events.HostPort
	// asked says that the spec itself says what to spread over the zones. spreads says that zones must keep the policy's skew.
	// gathers says that zones with instances of the service get more points.
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

// asks returns what this node sets aside for the instance. It is cheap if no node has a default.
func (d *demand) asks(n *projections.Node) events.Resources {
	if !d.differs {
		return d.reserves
	}
	return d.spec.Reserves(n.Facts.Default, d.policy)
}

// apart reports whether instances of a service with these labels must not run beside an instance of this one.
func (d *demand) apart(labels map[string]string) bool {
	return events.MatchAll(d.spec.AntiAffinity, labels)
}
