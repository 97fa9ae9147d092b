// Package memory is the bus in memory: one process, nothing kept. It behaves as JetStream does for all that package
// conformance checks, so that tests and simulations run the real coordinator and nodes on it.
package memory
