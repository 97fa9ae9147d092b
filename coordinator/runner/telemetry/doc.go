// Package telemetry tells of rounds that are in the log: as metrics (metrics.go, of what figures.go counts in a round and levels.go in a
// state), as spans (traces.go) and as lines of the process's log (lines.go). Nothing is ever read from it: what is decided is the same
// without.
package telemetry
