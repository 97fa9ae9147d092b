package checker

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// Command is a command that the server has stored.
type Command struct {
	Subject  string
	Envelope bool // the body is a CloudEvent in structured mode
	Body     []byte
}

// wanted is what a command asks of its service, as a reader of the body would say.
type wanted struct {
	verb     string
	revision uint64 // of the service as the command began
	Image    string `json:"image"`
	Scale    *int64 `json:"scale"`
	IfSeq    uint64 `json:"if_seq"`
	Snapshot uint64 `json:"snapshot"`
}

// Sent follows a command that the server has acknowledged: it must not be lost.
func (c *Checker) Sent(sequence uint64, cmd Command) { c.sent[sequence] = cmd }

// said reads a command. It reports false for one that is not known, as those of a restored log.
func (c *Checker) said(sequence uint64) (wanted, bool) {
	cmd, known := c.sent[sequence]
	if !known || c.replaying {
		return wanted{}, false
	}
	var envelope struct {
		Data wanted `json:"data"`
	}
	var err error
	if cmd.Envelope {
		err = json.Unmarshal(cmd.Body, &envelope)
	} else {
		err = json.Unmarshal(cmd.Body, &envelope.Data)
	}
	return envelope.Data, err == nil
}

// repeats checks that a command which is taken for an earlier one says the same.
func (c *Checker) repeats(d events.CommandRepeated) {
	a, known := c.sent[d.Sequence]
	of, ofKnown := c.sent[d.Of]
	if known && ofKnown && (a.Subject != of.Subject || string(a.Body) != string(of.Body)) {
		c.breach("P3", "command %d is taken for command %d said again, and has another body", d.Sequence, d.Of)
	}
}

// unseen checks that a command which names the state that its sender saw is taken in that state alone.
func (c *Checker) unseen(sequence uint64, id events.ServiceID) {
	said, _ := c.said(sequence)
	if s := c.facts.services[id]; s != nil && said.IfSeq > 0 && s.changed > said.IfSeq {
		c.breach("P1", "command %d is taken for %s as of %d, which was changed at %d", sequence, id, said.IfSeq, s.changed)
	}
}

// wants notes what the command that begins asks for.
func (c *Checker) wants(sequence uint64, verb string, id events.ServiceID) {
	want, known := c.said(sequence)
	if !known {
		delete(c.facts.wanted, id)
		return
	}
	want.verb = verb
	if s := c.facts.services[id]; s != nil {
		want.revision = s.revision
	}
	c.facts.wanted[id] = want
}

// wantsNoMore follows an event that has a service be something else than its last command asked for.
func (c *Checker) wantsNoMore(id events.ServiceID) { delete(c.facts.wanted, id) }

// plain are the verbs whose body, or whose name alone, says what the service is to be.
var plain = []string{"ensure", "scale", "suspend", "resume", "restart"}

// desired checks, as a round ends, that the log says of each service what the last command of the round asked for.
func (c *Checker) desired() {
	f := c.facts
	if len(f.wanted) == 0 {
		return
	}
	for _, id := range slices.SortedFunc(maps.Keys(f.wanted), events.ServiceID.Compare) {
		want, s := f.wanted[id], f.services[id]
		switch {
		case want.verb == "drop":
			if s != nil && !s.dropped {
				c.breach("P1", "%s was to be dropped, and is not", id)
			}
		case !slices.Contains(plain, want.verb):
		case s == nil || s.dropped:
			c.breach("P1", "%s was to be there, and is not", id)
		case want.Scale != nil && s.scale != uint32(*want.Scale):
			c.breach("P1", "%s was to have %d instances, and has a scale of %d", id, *want.Scale, s.scale)
		case want.Image != "" && s.spec().Image != want.Image:
			c.breach("P1", "%s was to run %s, and its revision runs %s", id, want.Image, s.spec().Image)
		case (want.verb == "suspend") != s.suspended:
			c.breach("P1", "%s was to %s, and is suspended: %t", id, want.verb, s.suspended)
		case want.verb == "restart" && (s.revision <= want.revision || s.spec().Hash() != s.specs[want.revision].Hash()):
			c.breach("P1", "%s was to be restarted in revision %d, and is in revision %d", id, want.revision, s.revision)
		}
	}
	clear(f.wanted)
}
