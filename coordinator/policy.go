package coordinator

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// policy changes how placement weighs nodes, from the next decision on. What runs stays where it is.
func (t *Turn) policy(r events.Request, c events.ClusterPolicy) error {
	t.emit(r.Scope, events.CommandAccepted{CommandIdentity: r.Identity()})
	if p := c.Policy(); p != t.Cluster.Policy {
		t.emit(events.ClusterScope, events.PolicyChanged{Policy: p})
	}
	t.emit(r.Scope, events.CommandSucceeded{Sequence: r.Sequence})
	return nil
}

// allow changes which nodes instances are placed on, from the next decision on.
func (t *Turn) allow(r events.Request, c events.ClusterNodes) error {
	t.emit(r.Scope, events.CommandAccepted{CommandIdentity: r.Identity()})
	if !slices.Equal(c.Allowed, t.Cluster.Allowed) {
		t.emit(events.ClusterScope, events.NodesAllowed(c))
	}
	t.emit(r.Scope, events.CommandSucceeded{Sequence: r.Sequence})
	return nil
}
