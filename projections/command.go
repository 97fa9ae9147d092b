package projections

import (
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Outcome is what became of a command.
type Outcome string

// The outcomes of a command. Accepted is the only outcome that another one replaces later.
const (
	Accepted   Outcome = "accepted"
	Rejected   Outcome = "rejected"
	Repeated   Outcome = "repeated"
	Succeeded  Outcome = "succeeded"
	Failed     Outcome = "failed"
	Superseded Outcome = "superseded"
)

// Command is what the state remembers of a command.
type Command struct {
	events.CommandIdentity
	// Service is the command's target; its namespace is empty where the subject names no service.
	Service events.ServiceID
	// Group is the command's target; its namespace is empty where the subject names no group.
	Group events.GroupID `json:",omitzero"`
	// Node is the command's target; "" where the subject names no node.
	Node    string `json:",omitzero"`
	Outcome Outcome
	// Unchanged says that the command asked for nothing new.
	Unchanged bool
	// Queued says that the command waits until those before it have ended.
	Queued bool `json:",omitzero"`
	// Received is the time of the round that took the command. Begun is the time of the round in which the command began.
	Received time.Time
	Begun    time.Time
	Cause    events.Cause
	// Rejection explains Rejected; Reason and Message explain Failed. Other is the command that holds a busy service, that
	// superseded this command, or that this command repeats.
	Rejection *events.Rejection
	Reason    events.FailureReason
	Message   string
	Other     uint64
	// Until is when the state may forget a command that ended later than its neighbours, which are forgotten by now.
	Until time.Time `json:",omitzero"`
}

// KeptCommand is for how long the state remembers a command with its id. Within this time the coordinator does not take the command
// twice, and the client that sent it can look up its outcome.
const KeptCommand = 24 * time.Hour

type commandKey struct{ actor, source, id string }

// KnownID returns the earlier command of this actor, source and id, or nil.
func (c *Cluster) KnownID(actor, source, id string) *Command {
	sequence, ok := c.byID[commandKey{actor, source, id}]
	if !ok {
		return nil
	}
	return c.Commands[sequence]
}

func (cmd *Command) key() commandKey { return commandKey{cmd.Cause.Actor, cmd.Source, cmd.ID} }

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

// Open returns, in no particular order, the sequences of the commands that have not ended.
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

// know makes the command findable by its id, unless an earlier command has the same id.
func (c *Cluster) know(cmd *Command) {
	if cmd.ID == "" {
		return
	}
	key := cmd.key()
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
			s.Snapshots.Wanted = 0 // the snapshot is taken by now, or no command waits for it any longer
		}
		s.Holder = 0
	}
	return cmd
}

// heldBy notes the command that the coordinator now carries out for the service.
func (s *Service) heldBy(command uint64) { s.Holder, s.TakesBack = command, false }

// begin notes that the coordinator carries out a queued command from now on.
func (cmd *Command) begin(now time.Time) { cmd.Queued, cmd.Begun = false, now }

// unqueue removes a command from the queue of its service.
func (c *Cluster) unqueue(id events.ServiceID, sequence uint64) {
	rest := slices.DeleteFunc(c.Queues[id], func(q events.CommandQueued) bool { return q.Sequence == sequence })
	if len(rest) == 0 {
		delete(c.Queues, id)
		return
	}
	c.Queues[id] = rest
}

// forgetCommands drops all commands when the inbox is a new stream: its sequences have nothing to do with those of the stream before.
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

// forget drops the commands below the sequence kept that have ended, once their Until has passed.
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
		if key := cmd.key(); c.byID[key] == sequence {
			delete(c.byID, key)
		}
	}
}
