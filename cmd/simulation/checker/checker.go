package checker

import (
	"fmt"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/projections"
)

// Breach is an invariant that does not hold.
type Breach struct {
	// Promise is the broken promise, as in "P1"; What says how.
	Promise string
	What    string
}

// Outside is what the checker itself looks up in a run.
type Outside struct {
	// Server holds the streams, buckets and objects.
	Server *memory.Bus
	// Now is the simulated clock.
	Now func() time.Time
	// Engines returns what the engine of each node has, ordered by the node's name.
	Engines func() []Engine
	// Trouble returns the number of faults so far, and whether anything is broken right now.
	Trouble func() (faults int, broken bool)
	// Usage returns what a container takes of its host's disk.
	Usage func(host string, c node.Container) node.Usage
	// Heartbeat is the interval between a node's heartbeats.
	Heartbeat time.Duration
	// Report takes each breach.
	Report func(Breach)
}

// Engine is what the engine of one node has.
type Engine struct {
	Node string
	// Process is the incarnation of the node that runs, "" while none does.
	Process string
	// Containers are ordered by their instances. Guarded holds the handles of the containers that the node's watchdog guards.
	Containers []node.Container
	Guarded    map[string]bool
	// Preparing counts the containers that the engine is making.
	Preparing int
}

// Checker follows one run and reports each invariant that does not hold.
type Checker struct {
	Outside
	log    logState
	orders ordersState
	facts  *facts
	fold   *projections.Cluster
	// unfolded holds the closed rounds that the fold has not taken yet.
	unfolded []round
	// sent holds the commands that the server has acknowledged, by sequence.
	sent map[uint64]Command
	// replaying says that the checker reads a restored log, and reports no breach in it.
	replaying bool
	// rewound says that the log is older than the orders that nodes have, and tampered that an operator or a disk changed a stream.
	rewound, tampered bool
	// damaged says that a message of the log is damaged, so that no coordinator may continue it.
	damaged bool
	engines enginesState
	volumes volumesState
	secrets secretsState
	calm    calmState
	// answered says that the checker has compared a coordinator's answer with the fold.
	answered bool
}

// New returns the checker of a run.
func New(o Outside) *Checker {
	c := &Checker{
		Outside: o, sent: map[uint64]Command{},
		engines: enginesState{
			sick: map[string]bool{}, did: map[events.InstanceID]map[events.Confirmation]bool{}, ready: map[process]bool{},
			finished: map[events.InstanceID]bool{},
		},
		volumes: volumesState{plans: map[process]node.Plan{}, held: map[place]filled{}, archives: map[string]archive{}},
		secrets: secretsState{configs: map[string][]configValue{}, outputs: map[string]bool{}},
	}
	c.forget()
	return c
}

// forget resets the checker to an unknown log.
func (c *Checker) forget() {
	c.log, c.orders = logState{leaders: map[uint64]string{}}, ordersState{decided: map[string]uint64{}}
	c.facts, c.fold, c.unfolded = newFacts(), projections.NewCluster(), nil
	c.calm = calmState{}
}

func (c *Checker) breach(promise, format string, args ...any) {
	if !c.replaying {
		c.Report(Breach{Promise: promise, What: fmt.Sprintf(format, args...)})
	}
}

// must reports a breach unless holds is true.
func (c *Checker) must(holds bool, promise, format string, args ...any) {
	if !holds {
		c.breach(promise, format, args...)
	}
}

// Restored reads a log that replaced the one before. The checker forgets the earlier log.
func (c *Checker) Restored(log []events.Message) {
	c.forget()
	c.rewound, c.replaying = true, true
	c.logged(log)
	c.replaying, c.orders.suspended = false, true
}

// Lost follows the loss of a stream: its messages count no longer.
func (c *Checker) Lost(stream bus.Stream) {
	switch stream {
	case bus.Commands:
		clear(c.sent)
	case bus.Orders:
		clear(c.orders.decided)
		c.orders.mark = 0
	case bus.Log, bus.Statuses, bus.Metrics:
	}
}

// Tampered notes that an operator or a disk has changed a stream.
func (c *Checker) Tampered() { c.tampered = true }

// Damaged sets whether a message of the log is damaged.
func (c *Checker) Damaged(is bool) { c.damaged = is }

// Stored follows a batch that the server stored.
func (c *Checker) Stored(stream bus.Stream, batch []events.Message) {
	c.Published(batch...)
	switch stream {
	case bus.Log:
		c.logged(batch)
	case bus.Orders:
		c.ordered(batch)
	case bus.Commands, bus.Statuses, bus.Metrics:
	}
}

// Spec returns the spec of a service's revision, as the last closed round has it.
func (c *Checker) Spec(id events.ServiceID, revision uint64) events.Spec {
	if s := c.facts.services[id]; s != nil {
		return s.specs[revision]
	}
	return events.Spec{}
}
