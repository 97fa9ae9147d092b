// Package world runs the whole house in one process: the real coordinators and nodes with their runners, on the bus in
// memory and on simulated engines, in simulated time, under faults. One plan, drawn from a seed, gives one run, byte for
// byte.
//
// All of it lives in one bubble of testing/synctest, whose clock moves on when every goroutine waits. What a part asks
// of the bus or of its engine is a call (call.go) that waits until the world answers it; the world answers one call, or
// tells one message, or lets time go on to the next timer, and then waits until everything has come to rest:
//
//	for {
//		wait until every goroutine waits
//		take the calls that were made, in order of who made them and for what   // call.go
//		do what is due next: a request arrives, an answer comes back, a fault begins, a person publishes // schedule.go
//	}
//
// So at any time one thing happens, and what happens next is drawn from the seed alone. The parts do their share by
// having one goroutine own what they know, and by taking what has come in one order.
//
// While it runs, package checker reads the log, the orders and what engines do, and holds all of them to the promises of the design.
package world
