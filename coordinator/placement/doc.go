// Package placement decides which node gets a service's next instance, and why.
//
// A node first passes the filters, one after the other. The first filter that matches removes it; the last filter keeps a node
// that is held for a service which has waited longer (hold.go). The remaining nodes get points: how well their used share fits
// the policy's profile, minus what they lose by soft wishes. The node with the most points gets the instance. Of two such nodes
// the one with fewer instances gets it, and then the one whose name comes first.
//
//	board := placement.NewBoard(cluster)
//	choice := board.Choose(service, ordinal)      // the node, its terms, the runner-up and what each filter removed; or why none
//	cluster.Apply(record)                // InstancePlaced, or anything else
//	board.Note(record)                   // the board looks at one node again, and at no other
//
// The answer is a function of the state alone. A board only remembers, for each service, how its nodes compare (queue.go). To
// build that it looks at every node; each later choice costs one step of a heap in one zone and a glance at the other zones.
//
// The package does not know a clock, a command or an order, and does not change the state.
package placement
