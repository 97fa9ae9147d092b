package checker

import (
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
)

// command is what became of a command.
type command struct {
	service  events.ServiceID
	group    events.GroupID
	node     string
	verb     string
	accepted bool
	queued   bool // it waits for those before it
	ended    bool
}

// Backlog returns how many commands wait for those before them, of the service that has most.
func (c *Checker) Backlog() (most int) {
	waiting := map[events.ServiceID]int{}
	for _, cmd := range c.facts.open {
		if cmd.queued {
			waiting[cmd.service]++
			most = max(most, waiting[cmd.service])
		}
	}
	return most
}

// fate checks what becomes of a command: it has one outcome and, once accepted, one end.
func (c *Checker) fate(r events.Record, d events.Fate) {
	switch d := d.(type) {
	case events.CommandAccepted:
		c.accepted(r, d)
	case events.CommandRejected:
		c.outcome(d.Sequence, &command{})
	case events.CommandRepeated:
		c.outcome(d.Sequence, &command{})
		c.repeats(d)
	case events.CommandQueued:
	case events.CommandBegun:
		c.begun(d.Sequence)
	case events.CommandSucceeded:
		c.succeeded(d.Sequence, c.end(d.Sequence))
	case events.CommandSuperseded:
		c.end(d.Sequence)
	case events.CommandFailed:
		c.end(d.Sequence)
	}
}

func (c *Checker) outcome(sequence uint64, cmd *command) {
	if c.facts.commands[sequence] != nil {
		c.breach("P1", "command %d has a second outcome", sequence)
	}
	c.facts.commands[sequence] = cmd
	if cmd.accepted {
		c.facts.open[sequence] = cmd
	}
}

// end follows the end of a command: it was accepted, and has not ended before.
func (c *Checker) end(sequence uint64) *command {
	cmd := c.facts.commands[sequence]
	switch {
	case cmd == nil || !cmd.accepted:
		c.breach("P1", "command %d ends, and was never accepted", sequence)
		return &command{}
	case cmd.ended:
		c.breach("P1", "command %d ends a second time", sequence)
	}
	cmd.ended = true
	delete(c.facts.open, sequence)
	return cmd
}

func (c *Checker) accepted(r events.Record, d events.CommandAccepted) {
	cmd := &command{verb: d.Verb, accepted: true, queued: d.Queued}
	cmd.service, _ = r.Scope.Service()
	cmd.group, _ = r.Scope.Group()
	cmd.node, _ = r.Scope.Node()
	beside := d.Verb == events.ServicePromote{}.Kind().Name // it goes beside the command that holds the service
	switch {
	case cmd.service.Name == "" || beside:
	case d.Queued:
		c.unseen(d.Sequence, cmd.service)
		if behind := c.waiting(cmd.service); !c.held(cmd.service) && behind == 0 || behind >= events.MaxQueued {
			c.breach("queues", "command %d waits behind %d for %s", d.Sequence, behind, cmd.service)
		}
	default:
		c.unseen(d.Sequence, cmd.service)
		c.alone(d.Sequence, cmd.service)
		c.wants(d.Sequence, d.Verb, cmd.service)
	}
	c.outcome(d.Sequence, cmd)
	if d.ID == "" {
		return
	}
	key := d.Source + "\x00" + d.ID
	if earlier, known := c.facts.ids[key]; known {
		c.breach("P3", "commands %d and %d have one id, and both are accepted", earlier, d.Sequence)
	}
	c.facts.ids[key] = d.Sequence
}

// alone checks that a service has one command at a time: one whose place another takes ends before.
func (c *Checker) alone(sequence uint64, id events.ServiceID) {
	for _, other := range slices.Sorted(maps.Keys(c.facts.open)) {
		if o := c.facts.open[other]; other != sequence && ((o.service == id && !o.queued) || c.facts.groups[other].holds(id)) {
			c.breach("P1", "command %d is carried out for %s while command %d has not ended", sequence, id, other)
			return
		}
	}
}

// held reports whether a command to the service is being carried out, and waiting counts those that wait behind it.
func (c *Checker) held(id events.ServiceID) bool {
	for sequence, o := range c.facts.open {
		if (o.service == id && !o.queued) || c.facts.groups[sequence].holds(id) {
			return true
		}
	}
	return false
}

func (c *Checker) waiting(id events.ServiceID) int {
	count := 0
	for _, o := range c.facts.open {
		if o.service == id && o.queued {
			count++
		}
	}
	return count
}

// begun checks that a command which waited begins in its turn.
func (c *Checker) begun(sequence uint64) {
	cmd := c.facts.open[sequence]
	if cmd == nil || !cmd.queued {
		c.breach("queues", "command %d begins, and did not wait", sequence)
		return
	}
	for _, other := range slices.Sorted(maps.Keys(c.facts.open)) {
		if o := c.facts.open[other]; o.service == cmd.service && o.queued && other < sequence {
			c.breach("queues", "command %d begins for %s before command %d", sequence, cmd.service, other)
		}
	}
	c.alone(sequence, cmd.service)
	c.unseen(sequence, cmd.service)
	cmd.queued = false
	c.wants(sequence, cmd.verb, cmd.service)
}

// succeeded checks that a success is one: what the command asked for is there.
func (c *Checker) succeeded(sequence uint64, cmd *command) {
	switch s := c.facts.services[cmd.service]; {
	case cmd.queued:
		c.breach("queues", "command %d succeeded, and never began", sequence)
	case cmd.verb == events.ServicePromote{}.Kind().Name:
	case cmd.node != "":
		m := c.facts.nodes[cmd.node]
		drains := cmd.verb == events.NodeDrain{}.Kind().Name && (m == nil || m.drain == nil || !m.drain.done)
		if forgets := cmd.verb == (events.NodeForget{}.Kind().Name) && m != nil; drains || forgets {
			c.breach("drain", "command %d, %s of %s, succeeded, and that is not done", sequence, cmd.verb, cmd.node)
		}
	case s != nil:
		if why := c.unsettled(s); why != "" {
			c.breach("P1", "command %d succeeded, and %s", sequence, why)
		}
		c.proves(s)
	}
}

// proves checks that all of a service has served for as long as counts when it first is as it must be.
func (c *Checker) proves(s *service) {
	if s.proven || s.dropped || s.suspended || s.spec().IsJob() {
		return
	}
	s.proven = true
	for _, i := range slices.Concat(s.slots...) {
		if i.runs() && i.online() && !i.lost && !i.back && !c.servedFor(i, s.spec().FirstHealthy()) {
			c.breach("P1", "%s is as it must be for the first time, and %s serves only since %s", s.id, i.id, i.serves)
		}
	}
}

// unsettled says in what a service is not as it must be; "" for in nothing. An operation that is paused holds up no command.
func (c *Checker) unsettled(s *service) string {
	serving, others := 0, 0
	for _, slot := range s.slots {
		for _, i := range slot {
			switch {
			case i.lost: // nothing waits for it
			case i.runs() && i.online() && (s.op != nil || (s.current(i) && i.replaces == 0)):
				if i.replaces == 0 {
					serving++
				}
			case i.runs() && s.paused() && i.replaces > 0:
			default:
				others++
			}
		}
	}
	switch {
	case s.spec().IsJob() && !s.dropped:
		if s.spec().Job.Schedule == "" && len(s.completed) != int(s.scale) {
			return s.id.String() + " has slots that are not done"
		}
	case s.op != nil && !s.paused():
		return "the operation of " + s.id.String() + " goes on"
	case s.suspended && !s.dropped:
		if !s.stopped || c.runsAny(s) {
			return s.id.String() + " is to rest, and does not"
		}
	case others > 0 || (!s.dropped && !c.anyLost(s) && serving != int(s.scale)):
		return s.id.String() + " does not have its instances, or has others"
	}
	return ""
}

func (c *Checker) runsAny(s *service) bool {
	return slices.ContainsFunc(s.slots, func(slot []*instance) bool { return slices.ContainsFunc(slot, (*instance).runs) })
}

func (c *Checker) anyLost(s *service) bool {
	return slices.ContainsFunc(s.slots, func(slot []*instance) bool {
		return slices.ContainsFunc(slot, func(i *instance) bool { return i.lost })
	})
}
