package coordinator

import (
	"slices"

	"github.com/rookery-project/rookery/events"
)

// policy changes how placement weighs nodes, from the next decision on. Running instances stay where they are.
func (t *Turn) policy(r events.Request, c events.ClusterPolicy) {
	var changes []events.Data
	if p := c.Policy(); p != t.Cluster.Policy {
		changes = append(changes, events.PolicyChanged{Policy: p})
	}
	t.atOnce(r, changes...)
}

// allow changes on which nodes placement puts instances, from the next decision on.
func (t *Turn) allow(r events.Request, c events.ClusterNodes) {
	var changes []events.Data
	if !slices.Equal(c.Allowed, t.Cluster.Allowed) {
		changes = append(changes, events.NodesAllowed(c))
	}
	t.atOnce(r, changes...)
}
