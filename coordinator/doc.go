// Package coordinator owns the decisions: given the state, what follows from a command, a status, a silent node or a deadline.
// A decision is a function of values and returns events; nothing here waits, asks or sends.
//
// The package does not know the bus, the nodes' engines or the clock. A Turn decides one round:
//
//	turn := coordinator.NewTurn(cluster, work, now)
//	turn.Command(request); turn.Status(sequence, status); turn.Silent(node); turn.Due()
//	turn.Look()          // reconcile every service in the work queue: compare it with its target, take the next step
//	turn.Records         // the events, in order, already applied to the state
//
// An input only says which service to reconcile; the state says what to do. So Look decides from the state alone, and
// reconciling again without a change yields no event.
package coordinator
