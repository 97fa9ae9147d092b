package events

import (
	"time"
)

// Limits of the drain of a node.
const (
	// DefaultDrainDeadline is how long a drain waits for successors where the command does not say.
	DefaultDrainDeadline = Duration(10 * time.Minute)
	MinDrainDeadline     = Duration(time.Second)
	MaxDrainDeadline     = Duration(24 * time.Hour)
)

// NodeDrain is the command to empty a node: its instances move to other nodes, and each runs on until its successor serves, as far as it
// can. The command ends once nothing is left. NodeResume takes it back.
type NodeDrain struct {
	// Deadline is when the instances that are left stop, whether a successor serves or not. Default: 10m after the command.
	Deadline Duration `json:"deadline,omitzero"`
}

// NodeForget is the command to forget a node that no longer exists and never reported its instances as stopped: it removes from the state
// what is left of the node.
type NodeForget struct{}

// NodeDraining says that the node takes no instance from here on, and that its instances move away.
type NodeDraining struct {
	// Until is when the instances that are left stop.
	Until time.Time `json:"until"`
}

// NodeDrained says that nothing is left on the node that is drained.
type NodeDrained struct {
	// Forced says that instances had to stop at the deadline.
	Forced bool `json:"forced,omitzero"`
}

// NodeForgotten says that the node is gone for good. Volumes that it had are given up, and its instances are forgotten from here on.
type NodeForgotten struct{}

// NodeRemoved says that nothing is known of the node any more. A process of its name that joins later is a new node, of a later epoch.
type NodeRemoved struct {
	Epoch uint64 `json:"epoch"`
}

// ForgetReason says why the cluster forgets an instance without a report of its end.
type ForgetReason string

// NodeNoLongerExists is the only ForgetReason: an operator has said so.
const NodeNoLongerExists ForgetReason = "node no longer exists"

// InstanceForgotten says that an instance no longer counts, as its node is forgotten. No node reported its end.
type InstanceForgotten struct {
	Ordinal    uint32       `json:"ordinal"`
	Generation uint32       `json:"generation"`
	Node       string       `json:"node"`
	Reason     ForgetReason `json:"reason"`
}

// StrayForgotten says that an orphan no longer counts, as its node is forgotten.
type StrayForgotten struct{ StrayFound }

// Kind implements Data.
func (NodeDrain) Kind() Kind { return v1("node", "drain") }

// Kind implements Data.
func (NodeForget) Kind() Kind { return v1("node", "forget") }

// Kind implements Data.
func (NodeDraining) Kind() Kind { return v1("node", "draining") }

// Kind implements Data.
func (NodeDrained) Kind() Kind { return v1("node", "drained") }

// Kind implements Data.
func (NodeForgotten) Kind() Kind { return v1("node", "forgotten") }

// Kind implements Data.
func (NodeRemoved) Kind() Kind { return v1("node", "removed") }

// Kind implements Data.
func (InstanceForgotten) Kind() Kind { return v1("instance", "forgotten") }

// Kind implements Data.
func (StrayForgotten) Kind() Kind { return v1("stray", "forgotten") }

func (c NodeDrain) check() error {
	if c.Deadline != 0 && (c.Deadline < MinDrainDeadline || c.Deadline > MaxDrainDeadline) {
		return Reject(CodeOutOfRange, "deadline", "deadline %s is not between %s and %s", time.Duration(c.Deadline),
			time.Duration(MinDrainDeadline), time.Duration(MaxDrainDeadline))
	}
	return nil
}

func (NodeForget) check() error { return nil }

func (c NodeDrain) normal() Command {
	if c.Deadline == 0 {
		c.Deadline = DefaultDrainDeadline
	}
	return c
}

func (c NodeForget) normal() Command { return c }

// ParseNodeDrain reads the body of the command as strictly as the coordinator does.
func ParseNodeDrain(body []byte) (NodeDrain, error) {
	var c NodeDrain
	if err := decodeStrict(body, &c); err != nil {
		return c, err
	}
	return c, c.check()
}
