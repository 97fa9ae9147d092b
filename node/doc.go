// Package node decides what a node does with one instance: the next step follows from its order and from its container.
//
// The package does not know the bus, Podman or the clock. A View is a value with all that a node knows of one instance. A Step is at
// most one call of the Engine:
//
//	for {
//		step, until := view.Next(now)   // what to do, or how long to wait
//		result := engine does step
//		view = view.Done(step, result, now)
//		publish view.State(...)         // if it changed
//	}
//
// A missing order never stops a container: the next step of a View without an order is StepNone.
package node
