// Package capsule is the format of a self-contained file that reproduces a bug; cmd/simulation replays it.
//
// A capsule holds one of two things. Simulated is a run that broke a promise: its plan, and how it broke the promise. The plan
// alone gives the run, byte for byte. Recorded is a log: its messages up to a place, whose fold is the state, and the commands
// that its last part answers. Check (check.go) folds the log and repeats its decisions, as far as the capsule has what they
// were based on.
//
//	c, err := capsule.Read(body)
//	found, err := capsule.Check(*c.Recorded)
//
// The package does not know a file, a clock or the bus.
package capsule
