// Package whatif runs the past again with another scheduling policy or another capacity, and reports what would have been
// different.
//
// It keeps two parts of the past, each event at its time (keep.go). One is what operators asked for: specs, scales, drops,
// suspensions, drains, which nodes are allowed. The other is what nodes did: joined, silent, returned, degraded, forgotten. All
// decisions of the coordinator are made again. Instances are simulated: each comes to serve, stops and completes after the time
// that the log shows as typical (typical.go). No instance fails, even if it failed in the past.
//
// The past runs twice beside what the log says of it. One run has the log's own policy, which shows how close the simulation
// comes; the other has the other policy. The difference between these two runs is the effect of the other policy.
//
//	report, err := whatif.Run(log, whatif.Question{Policy: &policy, From: from, To: to})
//
// The answer is a function of the log and the question alone. The package does not know a clock or the bus.
package whatif
