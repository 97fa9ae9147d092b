package coordinator

import (
	"errors"
	"fmt"
	"time"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// Explanation is a placement decision that the coordinator repeats: the answer to the question `explain`.
type Explanation struct {
	Service string `json:"service"`
	Ordinal uint32 `json:"ordinal"`
	// Sequence is the sequence of the decision in the log, and Time is when it was made.
	Sequence uint64    `json:"sequence"`
	Time     time.Time `json:"time"`
	// Node is the node that was chosen, "" if no node could take the instance.
	Node  string              `json:"node,omitempty"`
	Nodes []placement.Verdict `json:"nodes"`
	// Holds is the node that is held for the instance since then, "" for none. Hold is the node that was held for another
	// service.
	Holds string         `json:"holds,omitempty"`
	Hold  *HoldExplained `json:"hold,omitzero"`
	// Shunned lists what the coordinator leaves out of the service's work now, because of a defect in the coordinator.
	Shunned []string `json:"shunned,omitempty"`
}

// HoldExplained is a node that is held for a service.
type HoldExplained struct {
	Node string `json:"node"`
	// Service is empty for a reader that may not see its namespace.
	Service string `json:"service"`
	// Since is when the service began to wait.
	Since time.Time `json:"since"`
}

// ErrOtherPolicy occurs if the repeated decision differs from the logged one: another version of the policy made that one.
var ErrOtherPolicy = errors.New("another version of the policy decided it")

// OnNode returns the service and the slot for which the record decides on a node; false for any other record.
func OnNode(r events.Record) (id events.ServiceID, ordinal uint32, decides bool) {
	id, _ = r.Scope.Service()
	switch d := r.Data.(type) {
	case events.InstancePlaced:
		return id, d.Ordinal, true
	case events.InstancePending:
		return id, d.Ordinal, true
	}
	return id, 0, false
}

// Explain repeats the decision of the record, in the state in which it was made.
func Explain(c *projections.Cluster, decision events.Record) (Explanation, error) {
	id, ordinal, _ := OnNode(decision)
	x := Explanation{Service: id.String(), Ordinal: ordinal, Sequence: decision.Sequence, Time: decision.Time}
	board := placement.NewBoard(c)
	board.At(decision.Time)
	d, placed := decision.Data.(events.InstancePlaced)
	s, before := c.Services[id], c.Instance(events.InstanceID{Service: id, Ordinal: ordinal, Generation: d.Replaces})
	switch x.Node = d.Node; {
	case !placed || d.Replaces == 0:
		x.Nodes = board.Verdicts(s, ordinal)
	case s.Operation != nil:
		x.Nodes = board.VerdictsBeside(s, before, d.Revision)
	default:
		x.Nodes = board.VerdictsWithout(s, before)
	}
	if h := c.Held(); h.Service != nil && h.Service.ID != id {
		x.Hold = &HoldExplained{Node: h.Node, Service: h.Service.ID.String(), Since: h.Service.WaitsSince}
	}
	if p, waits := decision.Data.(events.InstancePending); waits && p.Holds != "" {
		x.Holds = p.Holds
		if again := board.Choose(s, ordinal).Pending; again != nil && again.Holds != p.Holds {
			return x, x.differs(p.Holds, again.Holds)
		}
	}
	return x, x.check()
}

// check returns an error if the repeated decision differs from the logged one.
func (x Explanation) check() error {
	first := ""
	if len(x.Nodes) > 0 && x.Nodes[0].Removed == "" {
		first = x.Nodes[0].Node
	}
	if first != x.Node {
		return x.differs(x.Node, first)
	}
	return nil
}

func (x Explanation) differs(logged, again string) error {
	return fmt.Errorf("at sequence %d the log has node %q, and the repeated decision is %q: %w", x.Sequence, logged, again, ErrOtherPolicy)
}
