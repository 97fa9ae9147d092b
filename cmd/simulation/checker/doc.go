// Package checker holds a simulated run to the promises of the design. It knows what must be true of everything that is stored and
// done, whatever the coordinator chooses: it reads the log, the orders and the buckets, and is told what engines do.
//
// It owns the invariants, and must never know how the coordinator decides: it imports neither the coordinator nor the node's runner.
// What must never happen is checked against the events, one by one (facts.go), and not against the fold. What the cluster comes to
// is compared with the fold, which says what the log means.
//
//	c := checker.New(checker.Outside{…})
//	c.Stored(bus.Log, batch)   // with each batch that the server stores
//	c.Started(step)            // with each step of an engine
//	c.Unlike()                 // once all faults are over: nothing, within a bounded time
//	c.Views()
//	c.Stays(before, false)     // and it stays so
//
// # What holds at any time
//
//	log.go        the log has one writer: rounds, epochs and cursors climb, the hash fits, time never runs back or far ahead
//	commands.go   a command has one outcome and one end, a service carries out one at a time, and the log says what it asked for
//	services.go   revisions, config versions and runs of jobs climb, and no two slots serve one key
//	slots.go      a slot has one instance, a generation is used once, what serves and is needed is not stopped, and positions climb;
//	              a node gives away what it has at most, and takes instances
//	nodes.go      node epochs climb; a node is lost, drained, forgotten and removed only in that order
//	barriers.go   no phase begins before each slot has reached the end of the one before, nor a stage before each service has
//	volumes.go    a slot stays with its volumes, and a snapshot is what its instances held at one time
//	orders.go     each order follows from the log, and no client is sent to what is ordered to stop
//	engines.go    each container is explained by an instance, and each end by an order; an exclusive slot has one live copy; no message has
//	              a secret, and a container has the configs of its own spec
//	calm.go       while nothing is broken, the log and the engines agree within a bounded time, and nothing is done again and again
//
// # What holds at the end
//
//	converge.go   every command has ended, every service has its instances or says why not, and engines and orders are as the log says
//	replay.go     every coordinator's state, every snapshot of it and the views are what the log folds to
//	calm.go       nothing more is decided or done: neither by itself, nor by a new leader that looks at everything
//
// # What is not decided here
//
// Each of these is the coordinator's choice, and safe whichever way it is made, as far as the invariants above hold. The transcripts of the
// coordinator, and the tables of its placement, have them.
//
//   - Which node gets an instance, by which filters, points and spread. What a node has, and its ports, are never given away twice here.
//   - Why a slot waits, and how many instances no longer fit a node. That it says why is checked at the end, and whether it is true there.
//   - Why an instance stops, or another comes beside it. What serves and is needed stops for none of the reasons.
//   - Which slots a wave has, in what order and how many; which phases an operation has; and whether what failed could have had room.
//   - When a phase, a command or a drain is past its time, and what follows a failure: pause, rollback or the next try. All commands end
//     within a bounded time after the last fault.
//   - What a rollback, a cancellation or a group that is aborted goes back to, and what restarts. The service converges to what the log says.
//   - For how long all of a new service has served when its first command succeeds.
//   - How long a node is silent before its instances are lost, but for exclusive ones, and how soon it is said to be degraded.
//   - What change of a topology instances are told of, and when. No two slots serve one key.
//   - How long a leader waits after a restore for nodes to say what they have. No slot has two instances, and no container ends without an order.
//   - In what round a leader looks again at what it left undone. A new leader changes nothing at the end, so nothing was.
//   - Which of two instances of a slot stays once a lost node is back. There is one in the end.
//   - When a job's next run is due, and when and how often a slot is tried again. Runs never come twice or early by the log's own word.
//   - Whether a node that was forgotten and comes back ends what it had before the next instances of the same slots begin: two may write to
//     one volume for a moment. Whoever forgets a node says that its machine is gone.
package checker
