package events

import "slices"

// DisconnectSpec says what follows where an instance's node sends no heartbeats.
type DisconnectSpec struct {
	// Disconnect says when an instance on a silent node is lost, so that another takes its place, and which of both stays
	// when the node is back. Slots with volumes, slots with a topology and global services have one instance at a time: what
	// is lost of them waits for its node.
	Disconnect *Disconnect `json:"disconnect,omitempty"`
}

// Disconnect is when an instance is lost, and what follows when its node is back.
type Disconnect struct {
	// LostAfter is how long its node is silent before an instance is lost. Default: the cluster's liveness.lost_after.
	LostAfter Duration `json:"lost_after,omitzero"`
	// Reconcile is longest-running (the one that serves, and of two the one that has for longer), keep-original or keep-replacement.
	// Default: longest-running.
	Reconcile Reconcile `json:"reconcile,omitempty"`
}

// Reconcile says which of two instances of a slot stays when the node of the lost one is back.
type Reconcile string

// The ways to reconcile.
const (
	ReconcileLongestRunning  Reconcile = "longest-running"
	ReconcileKeepOriginal    Reconcile = "keep-original"
	ReconcileKeepReplacement Reconcile = "keep-replacement"
)

// Disconnects returns what follows, with the defaults. LostAfter is 0 where it is the cluster's.
func (s DisconnectSpec) Disconnects() Disconnect {
	var d Disconnect
	if s.Disconnect != nil {
		d = *s.Disconnect
	}
	if d.Reconcile == "" {
		d.Reconcile = ReconcileLongestRunning
	}
	return d
}

// canonical leaves out what is the default as a whole, and otherwise writes the defaults out.
func (s DisconnectSpec) canonical() DisconnectSpec {
	d := s.Disconnects()
	if d == (DisconnectSpec{}).Disconnects() {
		return DisconnectSpec{}
	}
	return DisconnectSpec{&d}
}

func (s DisconnectSpec) check() error {
	d := s.Disconnects()
	known := []Reconcile{ReconcileLongestRunning, ReconcileKeepOriginal, ReconcileKeepReplacement}
	if !slices.Contains(known, d.Reconcile) {
		return Reject(CodeInvalidValue, "disconnect.reconcile", "disconnect.reconcile %s is not known: known are %s", quote(string(d.Reconcile)), listed(known))
	}
	if d.LostAfter == 0 {
		return nil
	}
	return checkBetween("disconnect.lost_after", d.LostAfter, MinLostAfter, MaxLostAfter)
}
