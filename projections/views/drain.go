package views

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// maxStrays bounds the strays that a node's value names.
const maxStrays = 20

// Stray is an instance that a node has and should not have.
type Stray struct {
	Instance string             `json:"instance"`
	Why      events.StrayReason `json:"why,omitempty"`
	// Message says the reason for people.
	Message string `json:"message,omitempty"`
}

// Drain is how far a node is that is to have no instance.
type Drain struct {
	// Until is when what is left stops; Forced says that something had to.
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
