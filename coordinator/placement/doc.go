// Package placement decides which node gets a service's next instance, and why.
//
// A node first meets the filters, one after the other, and is out at the first that removes it; the last one keeps a node
// that is held for a service which has waited longer (hold.go). Those that are left get
// points: how the share that is taken of them fits the policy's profile, less what they lose by soft wishes. The one
// with the most points has it; of two, the one with fewer instances, and then the one whose name comes first.
//
//	board := placement.NewBoard(cluster)
//	choice := board.Choose(service, ordinal)      // the node, its terms, the runner-up and what each filter removed; or why none
//	cluster.Apply(record)                // InstancePlaced, or anything else
//	board.Note(record)                   // one node is looked at again, and no other
//
// The answer is a function of the state alone. A board only remembers, for each service, how its nodes compare (queue.go):
// building that costs a look at every node, each choice after it a step of a heap in one zone and a glance at the others.
//
// The package never knows a clock, a command or an order, and changes nothing of the state.
package placement
