// Package coordinator owns the decisions: what follows from a command, a status, a silence or a deadline, given the
// state. A decision is a function of values and answers with events; nothing here waits, asks or sends.
//
// It never knows the bus, the nodes' engines or the clock. A Turn decides one round:
//
//	turn := coordinator.NewTurn(cluster, agenda, now)
//	turn.Command(request); turn.Status(sequence, status); turn.Silent(node); turn.Due()
//	turn.Look()          // every service on the agenda: what is it, what shall it be, what is the next step?
//	turn.Records         // the events, in order, already applied to the state
//
// An input says where to look; the state says what to do. So Look decides from the state alone, and looking again when
// nothing changed yields nothing.
package coordinator
