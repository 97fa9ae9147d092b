// Package capsule is the format of a self-contained file that reproduces a bug: what cmd/simulation replays.
//
// A capsule holds one of two things. Simulated is a run that broke a promise: its plan, and the breach that was found; the
// plan alone gives the run, byte for byte. Recorded is a log: its messages up to a place, whose fold is the state, and the
// commands that the part of it answers. Check (check.go) folds the log and decides on it once more, as far as what was decided
// on is in the capsule.
//
//	c, err := capsule.Read(body)
//	found, err := capsule.Check(*c.Recorded)
//
// The package never knows a file, a clock or the bus.
package capsule
