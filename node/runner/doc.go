// Package runner is the shell of a node: it joins, follows its orders, has the engine take the steps that package node
// finds, and publishes what they lead to.
//
//	agent.go      join, then one loop that owns all state: what comes is handled one at a time, calls run beside it
//	alarms.go     what is due when, and in which order
//	heartbeat.go  is this still the node of its name?
//	orders.go     orders, live and read anew where some were missed
//	look.go       what the engine has: adopted first, then looked at again on hints and from time to time
//	instance.go   what is kept of one instance
//	steps.go      next step → a place → engine → view
//	checks.go     health checks, beside the steps
//	disk.go       what instances take of the disk, measured after each look
//	sessions.go   what people read of an instance's output, and what they run in it: beside the loop, which knows nothing of it
//	sampler.go    what instances use, measured and published beside the loop
//	metrics.go    instruments; measured.go has those of the engine's calls, and traces.go the spans of steps
//	publisher.go  statuses, in order, however long the bus is away
//
// It never decides what should run. A bus that is away stops nothing: instances are kept as the last orders say.
//
// The loop never waits for a call, and knows of nothing but orders, results of calls and its one timer. Given these in
// the same order at the same times it does the same, so that a simulation can be run again.
package runner
