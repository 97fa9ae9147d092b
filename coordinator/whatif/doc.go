// Package whatif carries the past out once more with another scheduling policy or another capacity, and says what would
// have been different.
//
// Of the past it keeps what people asked for (specs, scales, drops, suspensions, drains, which nodes are allowed) and what
// nodes did (joined, silent, returned, degraded, forgotten), each at its time (keep.go). Everything that the coordinator
// decided is decided anew. What instances do is simulated: each comes to serve, stops and completes after the time that the
// log shows as typical (typical.go), and none fails, whatever failed in the past.
//
// The past is carried out twice beside what the log says of it: with its own policy, which shows how near the simulation
// comes, and with the other one. What differs between these two is what the other policy makes.
//
//	report, err := whatif.Run(log, whatif.Question{Policy: &policy, From: from, To: to})
//
// The answer is a function of the log and the question alone. The package never knows a clock or the bus.
package whatif
