package views

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// maxOrphans is how many orphans a node's value names at most.
const maxOrphans = 20

// Orphan is one: a container of a node that no order names.
type Orphan struct {
	Instance string             `json:"instance"`
	Why      events.StrayReason `json:"why,omitempty"`
	// Message explains the reason to an operator.
	Message string `json:"message,omitempty"`
}

// Drain is the progress of a node's drain.
type Drain struct {
	// Until is when the node stops the instances that are left. Forced says that it had to stop one.
	Until  time.Time `json:"until"`
	Forced bool      `json:"forced,omitzero"`
}

func orphansOf(n *projections.Node) []Orphan {
	var orphans []Orphan
	for _, id := range slices.SortedFunc(maps.Keys(n.Orphans), events.InstanceID.Compare) {
		if len(orphans) == maxOrphans {
			break
		}
		why := n.Orphans[id].Why
		orphans = append(orphans, Orphan{Instance: id.String(), Why: why, Message: why.Words()})
	}
	return orphans
}

func drainOf(n *projections.Node) *Drain {
	if !n.Draining() {
		return nil
	}
	return &Drain{Until: n.Drain.Until, Forced: n.Drain.Forced}
}
