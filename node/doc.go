// Package node owns what a node does with one instance: its order and what the engine has give the next step.
//
// It never knows the bus, Podman or the clock. A View is all that a node knows of one instance, a value; a Step is one
// call of the Engine, or none:
//
//	for {
//		step, until := view.Next(now)   // what to do, or how long to wait
//		result := engine does step
//		view = view.Done(step, result, now)
//		publish view.State(...)         // if it changed
//	}
//
// Absence never stops a container: without an order, a View's next step is none.
package node
