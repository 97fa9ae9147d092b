// Package projections owns the fold, which turns the log into the state of the cluster. The state depends on the log and on
// nothing else: every process that folds the same log gets the same state, byte for byte, at any time.
//
// The package knows neither why an event was decided nor where the log is kept: no network, no disk, no clock, no randomness.
// A follower of the log gives each message in turn to a Fold, which holds events back until their round is closed:
//
//	fold := projections.NewFold()
//	for each message of ROOKERY_LOG {
//		closed, err := fold.Take(message)   // on ErrGap, ErrChain and ErrUnknown: stop, and report the sequence
//	}
//	fold.Cluster                            // the state after the last whole round
//
// The leader wrote the events itself. It applies each with Cluster.Apply as it decides, and calls Cluster.Close when it closes the
// round. Both ways make the same calls in the same order.
package projections
