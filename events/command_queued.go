package events

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxQueued is how many commands may wait behind the one that holds a service.
const MaxQueued = 16

// CommandQueued says that an accepted command waits until those before it have ended, and what it asks for.
type CommandQueued struct {
	Sequence uint64 `json:"sequence"`
	// Behind is the sequence of the command that it waits for next.
	Behind uint64 `json:"behind"`
	// Verb is that of the command, and Body its body, with the defaults written out.
	Verb string         `json:"verb"`
	Body jsontext.Value `json:"body"`
}

// Kind implements Data.
func (CommandQueued) Kind() Kind { return Kind{"command", 2, "queued"} }

// CommandSequence returns the command's sequence.
func (c CommandQueued) CommandSequence() uint64 { return c.Sequence }

// Queued returns the event for a command that waits.
func Queued(sequence, behind uint64, command ServiceCommand) (CommandQueued, error) {
	body, err := json.Marshal(command, json.Deterministic(true))
	if err != nil {
		return CommandQueued{}, fmt.Errorf("write a queued %s: %w", command.Kind().Name, err)
	}
	return CommandQueued{sequence, behind, command.Kind().Name, body}, nil
}

// Command returns what it asks for. It returns an error for a verb that this version does not know, and for a body that it cannot read.
func (c CommandQueued) Command() (Command, error) {
	command, err := commandNamed("service", c.Verb)
	if err != nil {
		return nil, err
	}
	if c.Body.Kind() != '{' {
		return nil, fmt.Errorf("the body of a queued %s is not a JSON object: %.20s", c.Verb, c.Body)
	}
	data, err := command.entry.read(c.Body)
	if err != nil {
		return nil, fmt.Errorf("read a queued %s: %w", c.Verb, err)
	}
	return data.(Command), nil
}

// leastQueued is the least that reads back: an event about a command needs that command.
var leastQueued = CommandQueued{Verb: ServiceDrop{}.Kind().Name, Body: jsontext.Value(`{}`)}

// readQueued reads the event, and what it asks for: an event that this version cannot carry out must not pass for one that it can.
func readQueued(body []byte) (Data, error) {
	data, err := of[CommandQueued]().read(body)
	if err != nil {
		return nil, err
	}
	if _, err := data.(CommandQueued).Command(); err != nil {
		return nil, err
	}
	return data, nil
}

// liftQueued lifts version 1, which has the body in a field of the verb's name.
func liftQueued(body []byte) ([]byte, error) {
	var v1 struct {
		Sequence uint64                    `json:"sequence"`
		Behind   uint64                    `json:"behind"`
		Asks     map[string]jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(body, &v1); err != nil {
		return nil, err
	}
	if len(v1.Asks) != 1 {
		return nil, fmt.Errorf("it has %d fields beside sequence and behind, and not the one of its verb", len(v1.Asks))
	}
	v2 := CommandQueued{Sequence: v1.Sequence, Behind: v1.Behind}
	for v2.Verb, v2.Body = range v1.Asks {
	}
	return json.Marshal(v2)
}
