// Package world runs all of Rookery in one process: the real coordinators and nodes with their runners, on the bus in memory and on
// simulated engines, in simulated time, under faults. One plan, drawn from a seed, gives one run, byte for byte.
//
// A run happens in one bubble of testing/synctest, whose clock advances when every goroutine waits. A part is a coordinator or a node. Each
// request of a part to the bus or to its engine is a call (call.go), which waits until the world answers it. The world does one thing: it
// answers one call, delivers one message, or lets time pass until the next timer. Then it waits until every goroutine waits again:
//
//	for {
//		wait until every goroutine waits
//		take the new calls, in the order of their part and subject              // call.go
//		do what is due next: a request arrives, an answer comes back, a fault begins, a client publishes // schedule.go
//	}
//
// So one thing happens at a time, and the seed alone decides what happens next. The parts contribute to that: one goroutine owns the state
// of each, and takes its inputs in one order.
//
// During the run, package checker reads the log, the orders and the steps of engines, and checks that they keep the promises of the design.
package world
