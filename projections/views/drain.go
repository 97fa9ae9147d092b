package views

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// maxStrays is how many orphans a node's value names at most.
const maxStrays = 20

// Stray is an orphan: a container of a node that no order names.
type Stray struct {
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

func straysOf(n *projections.Node) []Stray {
	var strays []Stray
	for _, id := range slices.SortedFunc(maps.Keys(n.Strays), events.InstanceID.Compare) {
		if len(strays) == maxStrays {
			break
		}
		why := n.Strays[id].Why
		strays = append(strays, Stray{Instance: id.String(), Why: why, Message: why.Words()})
	}
	return strays
}

func drainOf(n *projections.Node) *Drain {
	if !n.Draining() {
		return nil
	}
	return &Drain{Until: n.Drain.Until, Forced: n.Drain.Forced}
}
