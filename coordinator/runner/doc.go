// Package runner is the runtime of the coordinator: a loop that reads inputs, lets the core decide, appends the round and
// publishes what changed. It owns time, the bus and the one goroutine that touches the state.
//
//	for {
//		follow the log until the lease is won          // follow.go
//		fail over: close a torn tail, fence the orders // failover.go
//		for {                                          // lead.go
//			take what waits in COMMANDS and STATUS, and what is due by now
//			decide it as one round                     // decide.go
//			append the round to LOG, fenced            // commit.go
//			publish orders, outcomes and views         // effects.go
//		}
//	}
//
// The package api answers questions outside the loop, and asks the loop for the state (asks.go). The package snapshots
// takes snapshots of the fold outside the loop, too. The loop tells the package telemetry about a round once the round is
// in the log. No decision reads telemetry.
//
// When a leader fails at anything, it drops its state, folds the log again and becomes a standby. Safety rests on the
// fenced append alone; the lease only avoids wasted work.
package runner
