// Package checker holds a simulated run to the promises of the design. It knows the invariants of everything that is stored and done,
// whatever the coordinator chooses. It reads the log, the orders and the buckets, and the world reports to it what engines do.
//
// It owns the invariants, and must never know how the coordinator decides: it imports neither the coordinator nor the node's runner.
// It checks what must never happen against the events, one by one (facts.go), and not against the fold. It compares the state in which
// the cluster ends with the fold, which says what the log means.
//
//	c := checker.New(checker.Outside{…})
//	c.Stored(bus.Log, batch)   // with each batch that the server stores
//	c.Started(step)            // with each step of an engine
//	c.Unlike()                 // once all faults are over: returns nothing, within a bounded time
//	c.Views()
//	c.Stays(before, false)     // and the cluster stays so
//
// # Invariants at any time
//
//	log.go        the log has one writer: rounds, epochs and cursors climb, the hash fits, time never runs back or far ahead
//	commands.go   a command has one outcome and one end, a service carries out one at a time, and the log says what it asked for
//	services.go   revisions, config versions and runs of jobs climb, and no two slots serve one key
//	slots.go      a slot has one instance and uses a generation once, an instance that serves and is needed runs on, and positions climb;
//	              a node gives away at most its own resources, and only while it takes instances
//	nodes.go      node epochs climb; a node is lost, drained, forgotten and removed only in that order
//	barriers.go   a phase begins once each slot has reached the end of the one before, and a stage once each service has
//	volumes.go    a slot stays with its volumes, and a snapshot holds the volumes of all its instances as of one time
//	orders.go     each order follows from the log, and no client is sent to an instance that is ordered to stop
//	engines.go    an instance explains each container, and an order each end; an exclusive slot has one live copy; no message holds
//	              a secret, and a container has the configs of its own spec
//	calm.go       while nothing is broken, the log and the engines agree within a bounded time, and no work is redundant
//
// # Invariants at the end
//
//	converge.go   every command has ended, every service has its instances or says why not, and engines and orders are as the log says
//	replay.go     every coordinator's state, every snapshot of it and the views are what the log folds to
//	calm.go       the cluster decides and does nothing more: neither by itself, nor under a new leader that reconciles everything
//
// # Choices of the coordinator
//
// The checker does not decide these. The coordinator chooses, and each choice is safe as long as the invariants above hold. The transcripts
// of the coordinator, and the tables of its placement, show the choices.
//
//   - Which node gets an instance, by which filters, points and spread. The checker makes sure that a node's resources and ports are never
//     given away twice.
//   - Why a slot waits, and how many instances no longer fit a node. At the end the checker makes sure that the slot gives a reason that holds.
//   - Why an instance stops, or a successor starts. No reason stops an instance that serves and is needed.
//   - Which slots a wave has, in what order and how many; which phases an operation has; and whether a failed slot could have had room.
//   - When a phase, a command or a drain is past its time, and what follows a failure: pause, rollback or the next try. All commands end
//     within a bounded time after the last fault.
//   - What a rollback, a cancellation or an aborted group returns to, and what restarts. The service converges to what the log says.
//   - For how long all instances of a new service have served when its first command succeeds.
//   - How long a node is silent before its instances are lost, except for exclusive ones, and how soon it counts as degraded.
//   - Which change of a topology instances are told of, and when. No two slots serve one key.
//   - How long a leader waits after a restore for nodes to list what they have. No slot has two instances, and no container ends without
//     an order.
//   - In which round a leader returns to work that it left undone. A new leader changes nothing at the end, so no work was left.
//   - Which of two instances of a slot stays once a lost node is back. One is left in the end.
//   - When a job's next run is due, and when and how often a slot is tried again. The times in the log show no run twice or early.
//   - Whether a forgotten node that comes back ends its old instances before the next ones of the same slots begin: two may write to
//     one volume for a moment. The operator who forgets a node asserts that its machine is gone.
package checker
