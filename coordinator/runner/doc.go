// Package runner is the shell of the coordinator: the loop that takes inputs, has them decided, appends the round and
// publishes what changed. It owns time, the bus and the one goroutine that touches the state.
//
//	for {
//		follow the log until the lease is won          // follow.go
//		take over: close a torn tail, fence the orders // takeover.go
//		for {                                          // lead.go
//			take what waits in COMMANDS and STATUS, and what time has made due
//			decide it as one round                     // decide.go
//			append the round to LOG, fenced            // commit.go
//			publish orders, fates and views            // effects.go
//		}
//	}
//
// Questions are answered beside the loop, by the package api, which asks the loop for the state (asks.go). Snapshots of the fold are taken
// beside it, too, by the package snapshots. What a round has done is told to the package telemetry once it is in the log; nothing is ever
// read from that.
//
// Whatever goes wrong while it leads, it drops its state, folds the log again and stands by. Safety rests on the fenced
// append alone; the lease only saves wasted work.
package runner
