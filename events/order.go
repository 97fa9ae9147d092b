package events

import "fmt"

// Action is what a node must do with an instance.
type Action string

// The actions of an order.
const (
	ActionRun    Action = "run"    // keep it running
	ActionStop   Action = "stop"   // stop and remove it
	ActionForget Action = "forget" // nothing: the instance is known to be gone; the order ends by itself
)

// Order is what a node must have of one instance now. The latest wins.
type Order struct {
	Action Action `json:"action"`
	// Log is the identity of the log that decided it and Decided the sequence there.
	Log     string `json:"log"`
	Decided uint64 `json:"decided"`
	// Stream is the identity of the stream of orders that it was written for: its sequences there tell nothing of those in another.
	Stream string `json:"stream,omitempty"`
	// Counter climbs by one with every order to run or stop of one node: a node that sees a gap has missed one. It is
	// 0 for ActionForget, which may be missed.
	Counter uint64 `json:"counter"`
	// Revision, Hash, Spec and Ports are what ActionRun needs. Hash is that of the revision's spec. The templates of
	// Spec are rendered for the instance: a node takes every text as it stands.
	Revision uint64        `json:"revision,omitzero"`
	Hash     string        `json:"hash,omitempty"`
	Spec     *Spec         `json:"spec,omitempty"`
	Ports    []PortBinding `json:"ports,omitempty"`
	// Images are the images that the names in Spec resolve to in this revision, as far as it was known when the order was decided. The node
	// takes these, whatever its tags say.
	Images map[string]string `json:"images,omitempty"`
	// Scratch is how much scratch disk the instance has: as its spec says, or as the policy did when it was placed.
	Scratch Size `json:"scratch,omitzero"`
	// Topology is what the instance finds in its file; nil where its spec asks for none.
	Topology *Told `json:"topology,omitempty"`
	// Ask is what the instance is asked for a snapshot; nil for nothing.
	Ask *Ask `json:"ask,omitempty"`
	// Restore is what its volumes must hold before it first runs; nil where they stay as they are.
	Restore *Restore `json:"restore,omitempty"`
	// Window is how long the instance may run after the sending of the last heartbeat that was answered; 0 for no such bound.
	Window Duration `json:"window,omitzero"`
	// Epoch is the node epoch in which an instance with such a window was placed.
	Epoch uint64 `json:"epoch,omitzero"`
	// SecurityContext is what its containers may do where Spec does not say; empty for restricted.
	SecurityContext SecurityContext `json:"security_context,omitempty"`
}

// Kind implements Data.
func (Order) Kind() Kind { return v1("order", "instance") }

// OrdersEpoch is the leader's mark in ROOKERY_ORDERS: it fences the orders of leaders before it, and tells a log that
// is older than the orders that came from it.
type OrdersEpoch struct {
	Log    string `json:"log"`
	Epoch  uint64 `json:"epoch"`
	Leader string `json:"leader"`
	// Closed is the sequence of the last closed round that the orders follow, and Chain its hash.
	Closed uint64 `json:"closed"`
	Chain  Chain  `json:"chain"`
}

// Kind implements Data.
func (OrdersEpoch) Kind() Kind { return v1("order", "epoch") }

// ParseOrder reads an order and the node and instance that it is for. Its errors are ErrMalformed and ErrUnknownType.
func ParseOrder(m Message) (string, InstanceID, Order, error) {
	node, id, ok := ParseOrderSubject(m.Subject)
	if !ok {
		return "", InstanceID{}, Order{}, fmt.Errorf("%w: %q is not the subject of an order", ErrMalformed, m.Subject)
	}
	order, _, err := DecodeAs[Order](m)
	return node, id, order, err
}
