package checker

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// command is the state of a command.
type command struct {
	service  events.ServiceID
	group    events.GroupID
	node     string
	verb     string
	accepted bool
	queued   bool // it waits for earlier commands
	ended    bool
}

// Backlog returns the largest number of commands of one service that wait for earlier ones.
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

// ended checks an event about a command: a command has one outcome and, once accepted, one end.
func (c *Checker) ended(r events.Record, d events.Outcome) {
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
	c.must(c.facts.commands[sequence] == nil, "P1", "command %d has a second outcome", sequence)
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
		c.breach("P1", "command %d ends, but was never accepted", sequence)
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
	beside := d.Verb == events.ServicePromote{}.Kind().Name // it runs beside the command that holds the service
	switch {
	case cmd.service.Name == "" || beside:
	case d.Queued:
		c.unseen(d.Sequence, cmd.service)
		behind := c.waiting(cmd.service)
		c.must((c.holder(d.Sequence, cmd.service) != 0 || behind != 0) && behind < events.MaxQueued,
			"queues", "command %d waits behind %d for %s", d.Sequence, behind, cmd.service)
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
	earlier, known := c.facts.ids[key]
	c.must(!known, "P3", "commands %d and %d have the same id, but both are accepted", earlier, d.Sequence)
	c.facts.ids[key] = d.Sequence
}

// alone checks that a service carries out one command at a time. A superseded command ends before the next one begins.
func (c *Checker) alone(sequence uint64, id events.ServiceID) {
	other := c.holder(sequence, id)
	c.must(other == 0, "P1", "command %d is carried out for %s while command %d has not ended", sequence, id, other)
}

// holder returns the first command except this one that the service carries out, 0 for none. Function waiting counts those behind it.
func (c *Checker) holder(but uint64, id events.ServiceID) (first uint64) {
	for sequence, o := range c.facts.open {
		if sequence != but && ((o.service == id && !o.queued) || c.facts.groups[sequence].holds(id)) && (first == 0 || sequence < first) {
			first = sequence
		}
	}
	return first
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

// begun checks that a queued command begins in its turn.
func (c *Checker) begun(sequence uint64) {
	cmd := c.facts.open[sequence]
	if cmd == nil || !cmd.queued {
		c.breach("queues", "command %d begins, but was not queued", sequence)
		return
	}
	for _, other := range slices.Sorted(maps.Keys(c.facts.open)) {
		o := c.facts.open[other]
		c.must(o.service != cmd.service || !o.queued || other >= sequence,
			"queues", "command %d begins for %s before command %d", sequence, cmd.service, other)
	}
	c.alone(sequence, cmd.service)
	c.unseen(sequence, cmd.service)
	cmd.queued = false
	c.wants(sequence, cmd.verb, cmd.service)
}

// succeeded checks that a command succeeds only once it is carried out.
func (c *Checker) succeeded(sequence uint64, cmd *command) {
	switch s := c.facts.services[cmd.service]; {
	case cmd.queued:
		c.breach("queues", "command %d succeeded, but never began", sequence)
	case cmd.verb == events.ServicePromote{}.Kind().Name:
	case cmd.node != "":
		m := c.facts.nodes[cmd.node]
		drains := cmd.verb == events.NodeDrain{}.Kind().Name && (m == nil || !m.drained)
		forgets := cmd.verb == (events.NodeForget{}.Kind().Name) && m != nil
		c.must(!drains && !forgets, "drain", "command %d, %s of %s, succeeded, but is not carried out", sequence, cmd.verb, cmd.node)
	case s != nil:
		why := c.unsettled(s)
		c.must(why == "", "P1", "command %d succeeded, but %s", sequence, why)
	}
}

// unsettled returns why a service has not settled, or "". A paused operation blocks no command.
func (c *Checker) unsettled(s *service) string {
	serving, others := 0, 0
	for _, i := range slices.Concat(s.slots...) {
		switch {
		case i.lost, i.runs() && i.replaces > 0 && (s.paused() || (s.op != nil && i.online())): // the command does not wait for it
		case i.runs() && i.online() && (s.op != nil || s.current(i)) && (i.replaces == 0 || s.follows(i)):
			serving++
		default:
			others++
		}
	}
	switch {
	case s.spec().IsJob() && !s.dropped:
		if s.spec().Job.Schedule == "" && len(s.completed) != int(s.scale) {
			return s.id.String() + " has slots that are not done"
		}
	case s.op != nil && !s.paused():
		return "the operation of " + s.id.String() + " has not ended"
	case s.suspended && !s.dropped:
		if !s.stopped || s.any((*instance).runs) {
			return s.id.String() + " must be suspended, but is not"
		}
	case others > 0 || (!s.dropped && !s.any(func(i *instance) bool { return i.lost }) && serving != int(s.scale)):
		return s.id.String() + " does not have its instances, or has others"
	}
	return ""
}

// follows reports whether the instance has the place of a lost one that it replaces.
func (s *service) follows(i *instance) bool {
	return slices.ContainsFunc(s.at(i.id.Ordinal), func(o *instance) bool { return o.lost && o.id.Generation == i.replaces })
}

// Command is a command that the server has stored.
type Command struct {
	Subject  string
	Envelope bool // the body is a CloudEvent in structured mode
	Body     []byte
}

// wanted is what a command asks of its service, as its body says.
type wanted struct {
	verb  string
	Image string `json:"image"`
	Scale *int64 `json:"scale"`
	IfSeq uint64 `json:"if_seq"`
}

// Sent follows a command that the server has acknowledged, and that must not be lost.
func (c *Checker) Sent(sequence uint64, cmd Command) { c.sent[sequence] = cmd }

// said reads a command. It reports false for an unknown command, such as those of a restored log.
func (c *Checker) said(sequence uint64) (wanted, bool) {
	cmd, known := c.sent[sequence]
	if !known || c.replaying {
		return wanted{}, false
	}
	var envelope struct {
		Data wanted `json:"data"`
	}
	into := any(&envelope.Data)
	if cmd.Envelope {
		into = &envelope
	}
	err := json.Unmarshal(cmd.Body, into)
	return envelope.Data, err == nil
}

// repeats checks that a command which counts as the repetition of an earlier one has the same subject and body.
func (c *Checker) repeats(d events.CommandRepeated) {
	a, known := c.sent[d.Sequence]
	of, ofKnown := c.sent[d.Of]
	c.must(!known || !ofKnown || (a.Subject == of.Subject && string(a.Body) == string(of.Body)),
		"P3", "command %d counts as a repetition of command %d, but has another subject or body", d.Sequence, d.Of)
}

// unseen checks that the coordinator accepts a command with if_seq only if the service has not changed since that sequence.
func (c *Checker) unseen(sequence uint64, id events.ServiceID) {
	said, _ := c.said(sequence)
	if s := c.facts.services[id]; s != nil && said.IfSeq > 0 && s.changed > said.IfSeq {
		c.breach("P1", "command %d for %s has if_seq %d, but the service changed at %d", sequence, id, said.IfSeq, s.changed)
	}
}

// wants notes what the command that begins asks for.
func (c *Checker) wants(sequence uint64, verb string, id events.ServiceID) {
	delete(c.facts.wanted, id)
	if want, known := c.said(sequence); known {
		want.verb = verb
		c.facts.wanted[id] = want
	}
}

// plain lists the verbs whose name or body alone determines what the service must be.
var plain = []string{"ensure", "scale", "suspend", "resume", "restart"}

// desired checks at the end of a round that each service in the log is what the last command of the round asked for.
func (c *Checker) desired() {
	f := c.facts
	if len(f.wanted) == 0 {
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(f.wanted), events.ServiceID.Compare) {
		want, s := f.wanted[id], f.services[id]
		switch {
		case want.verb == "drop":
			c.must(s == nil || s.dropped, "P1", "%s must be dropped, but is not", id)
		case !slices.Contains(plain, want.verb):
		case s == nil || s.dropped:
			c.breach("P1", "%s must exist, but does not", id)
		case want.Scale != nil && s.scale != uint32(*want.Scale):
			c.breach("P1", "%s must have %d instances, but has a scale of %d", id, *want.Scale, s.scale)
		case want.Image != "" && s.spec().Image != want.Image:
			c.breach("P1", "%s must run %s, but its revision runs %s", id, want.Image, s.spec().Image)
		case (want.verb == "suspend") != s.suspended:
			c.breach("P1", "the last command to %s is %s, but the service is suspended: %t", id, want.verb, s.suspended)
		}
	}
	clear(f.wanted)
}
