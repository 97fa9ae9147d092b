// Package runner is the runtime of a node. It joins the cluster and follows the node's orders. It makes the engine take the steps that
// package node decides on, and publishes the results.
//
//	agent.go      join, then run one loop, which owns all state and handles one thing at a time; calls run beside it
//	alarms.go     what is due when, and in which order
//	heartbeat.go  asks the leader whether this process is still the node of its name
//	orders.go     live orders, and all orders read again after some were missed
//	look.go       the engine's containers: adopted first, then listed again on hints and every few seconds
//	instance.go   the state of one instance
//	steps.go      next step → a place → engine → view
//	checks.go     health checks, beside the steps
//	disk.go       disk usage of instances, measured after each listing
//	sessions.go   sessions of clients that read an instance's output or run commands in it; they share no state with the loop
//	sampler.go    what instances use, measured and published beside the loop
//	metrics.go    instruments; measured.go has those of the engine's calls, and traces.go the spans of steps
//	publisher.go  statuses, in order, however long the bus is unreachable
//
// The package never decides what must run. If the bus is unreachable, the node keeps its instances as the last orders say.
//
// The loop never waits for a call. It knows only orders, results of calls and its one timer. If these come in the same order at the
// same times, it does the same, so that a simulation can be repeated.
package runner
