// Package projections owns the fold: what the log says, as a state. State is the fold of the log and of nothing else,
// so the same log gives the same state, byte for byte, whoever folds it and whenever.
//
// It never knows why an event was decided, nor where the log is kept: no network, no disk, no clock, no randomness.
// A follower of the log gives each message in turn to a Fold, which holds events back until their round is closed:
//
//	fold := projections.NewFold()
//	for each message of ROOKERY_LOG {
//		closed, err := fold.Take(message)   // ErrGap, ErrChain, ErrUnknown: stop, and say where
//	}
//	fold.Cluster                            // the state after the last whole round
//
// The leading coordinator, which wrote the events itself, applies them with Cluster.Apply as it decides and with
// Cluster.Close when it closes the round. Both ways make the same calls in the same order.
package projections
