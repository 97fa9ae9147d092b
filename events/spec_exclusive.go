package events

import "time"

// ExclusiveSpec says whether two copies of an instance may ever live at once.
type ExclusiveSpec struct {
	// Exclusive keeps each slot to one live instance: the next begins once the one before is known to have ended, or must have. A node
	// whose heartbeats get no answer ends the instance by itself, even where its process or Podman hangs; the successor waits until then.
	// Not for mode global.
	Exclusive bool `json:"exclusive,omitzero"`
}

// MinWindow is the shortest time for which an exclusive instance runs on without an answer to its node's heartbeats: three heartbeats.
const MinWindow = Duration(15 * time.Second)

// WindowMargin goes between the end of an exclusive instance's window, by which its node has ended it, and what may begin after it: clocks
// do not run alike, and to kill takes a moment.
const WindowMargin = 2 * time.Second

func (s ExclusiveSpec) check(mode Mode, d Disconnect) error {
	switch {
	case !s.Exclusive:
	case mode == ModeGlobal:
		return Reject(CodeInvalidValue, "exclusive",
			"exclusive is true, and an instance of mode global has no place but its own node: leave it out")
	case d.LostAfter > 0 && d.LostAfter < MinWindow:
		return Reject(CodeOutOfRange, "disconnect.lost_after",
			"disconnect.lost_after %s is less than %s, and an exclusive instance ends after that time without an answered heartbeat: give it more time",
			time.Duration(d.LostAfter), time.Duration(MinWindow))
	case d.Reconcile != ReconcileLongestRunning:
		return Reject(CodeInvalidValue, "disconnect.reconcile",
			"disconnect.reconcile is %s, and an exclusive instance that was replaced has ended: leave it out", d.Reconcile)
	}
	return nil
}
