// Package views is the door through which people read the state: the fold written to key-value buckets, one value a
// service, a slot, a node and an operation, each with the sequence of the log that it is true at.
//
// It never decides anything and nothing is decided from it. Views may be deleted at any time: the leader writes them
// again from the state.
//
//	writer.Show(changes)   // hands over what changed and returns at once
//	writer.Repair(all)     // the same for everything, and removes what should not be there
package views
