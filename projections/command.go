package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Outcome is what became of a command.
type Outcome string

// The outcomes of a command. Accepted is the only one that another follows.
const (
	Accepted   Outcome = "accepted"
	Rejected   Outcome = "rejected"
	Repeated   Outcome = "repeated"
	Succeeded  Outcome = "succeeded"
	Failed     Outcome = "failed"
	Superseded Outcome = "superseded"
)

// Command is what the log remembers of a command.
type Command struct {
	events.CommandIdentity
	// Service is the one that the command was for; its namespace is empty where the subject named none.
	Service events.ServiceID
	// Group is the one that the command was for; its namespace is empty where the subject named none.
	Group events.GroupID `json:",omitzero"`
	// Node is the one that the command was for; "" where the subject named none.
	Node    string `json:",omitzero"`
	Outcome Outcome
	// Unchanged says that all it asked for was desired before.
	Unchanged bool
	// Queued says that it waits until those before it have ended.
	Queued bool `json:",omitzero"`
	// Received is the time of the round that took the command, and Begun of that in which it began.
	Received time.Time
	Begun    time.Time
	Cause    events.Cause
	// Rejection explains Rejected; Reason and Message explain Failed; Other is the holder of a busy service, the
	// command that superseded this one, or the one that it repeats.
	Rejection *events.Rejection
	Reason    events.FailureReason
	Message   string
	Other     uint64
	// Until is how long it is remembered where it ended when those before and after it were forgotten.
	Until time.Time `json:",omitzero"`
}

// KeptCommand is for how long a command is remembered with its id, so that it is not taken twice, and its sender finds what became of it.
const KeptCommand = 24 * time.Hour

type commandKey struct{ source, id string }

// KnownID returns the earlier command of this source and id, or nil.
func (c *Cluster) KnownID(source, id string) *Command {
	sequence, ok := c.byID[commandKey{source, id}]
	if !ok {
		return nil
	}
	return c.Commands[sequence]
}

// Scope returns the scope of events about the command.
func (cmd *Command) Scope() events.Scope {
	if cmd.Group.Name != "" {
		return events.GroupScope(cmd.Group)
	}
	if cmd.Node != "" {
		return events.NodeScope(cmd.Node)
	}
	return events.ServiceScope(cmd.Service)
}

// Open returns, in no order, the sequences of the commands that have not ended.
func (c *Cluster) Open() map[uint64]struct{} { return c.open }

func (c *Cluster) remember(r events.Record, identity events.CommandIdentity, outcome Outcome) *Command {
	cmd := &Command{CommandIdentity: identity, Outcome: outcome, Received: r.Time, Begun: r.Time, Cause: r.Cause}
	cmd.Service, _ = r.Scope.Service()
	cmd.Group, _ = r.Scope.Group()
	cmd.Node, _ = r.Scope.Node()
	c.Commands[identity.Sequence] = cmd
	c.know(cmd)
	return cmd
}

// know has the command be found by its id, unless an earlier one has that.
func (c *Cluster) know(cmd *Command) {
	if cmd.ID == "" {
		return
	}
	key := commandKey{cmd.Source, cmd.ID}
	if _, known := c.byID[key]; !known {
		c.byID[key] = cmd.Sequence
	}
}

func (c *Cluster) endCommand(sequence uint64, outcome Outcome, now time.Time) *Command {
	cmd := c.Commands[sequence]
	if cmd == nil {
		return &Command{}
	}
	cmd.Outcome = outcome
	if sequence < c.CommandsKept {
		cmd.Until = now.Add(KeptCommand)
	}
	delete(c.open, sequence)
	if cmd.Queued {
		c.unqueue(cmd.Service, sequence)
	}
	if n := c.Nodes[cmd.Node]; n != nil && n.Holder == sequence {
		n.Holder = 0
	}
	if s := c.Services[cmd.Service]; s != nil && s.Holder == sequence {
		if s.HoldsSnapshot(c) {
			s.Snapshots.Wanted = 0 // it is taken by now, or nobody waits for it any more
		}
		s.Holder = 0
	}
	return cmd
}

// heldBy has the command be carried out for the service.
func (s *Service) heldBy(command uint64) { s.Holder, s.TakesBack = command, false }

// begin has a command that was queued be carried out from now on.
func (cmd *Command) begin(now time.Time) { cmd.Queued, cmd.Begun = false, now }

// unqueue has a command wait behind others no more.
func (c *Cluster) unqueue(id events.ServiceID, sequence uint64) {
	rest := slices.DeleteFunc(c.Queues[id], func(q events.CommandQueued) bool { return q.Sequence == sequence })
	if len(rest) == 0 {
		delete(c.Queues, id)
		return
	}
	c.Queues[id] = rest
}

// forgetCommands begins anew with an inbox whose sequences have nothing to do with those of the one before.
func (c *Cluster) forgetCommands() {
	clear(c.Commands)
	clear(c.byID)
	clear(c.open)
	clear(c.Queues)
	clear(c.Groups)
	clear(c.members)
	c.CommandsKept = 0
	for _, s := range c.Services {
		s.Holder = 0
	}
	for _, n := range c.Nodes {
		n.Holder = 0
	}
}

// forget drops the commands below kept that have ended.
func (c *Cluster) forget(kept uint64, now time.Time) {
	if kept <= c.CommandsKept {
		return
	}
	c.CommandsKept = kept
	for sequence, cmd := range c.Commands {
		if sequence >= kept || cmd.Outcome == Accepted || now.Before(cmd.Until) {
			continue
		}
		delete(c.Commands, sequence)
		if key := (commandKey{cmd.Source, cmd.ID}); c.byID[key] == sequence {
			delete(c.byID, key)
		}
	}
}
