// Package runner is the shell of a node: it joins, follows its orders, has a worker for each instance take the steps
// that package node finds, and publishes what they lead to.
//
//	agent.go      join, list and adopt, then follow: orders, heartbeats, looks at the engine
//	worker.go     one instance: next step → engine → view
//	publisher.go  statuses, in order, however long the bus is away
//
// It never decides what should run. A bus that is away stops nothing: instances are kept as the last orders say.
package runner
