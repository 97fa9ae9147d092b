package events

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// Limits of what is run in an instance.
const (
	// MaxExecWords and MaxExecBytes bound the command: how many words it has, and how long they are together.
	MaxExecWords = 1024
	MaxExecBytes = 64 << 10
)

// The exit codes of a command that did not run, as Podman and shells have them.
const (
	ExitExecFailed     = 125 // the session failed: the command's own code is not known
	ExitNotExecutable  = 126 // the command cannot be run
	ExitCommandMissing = 127 // there is no such command in the container
)

// ExecRequest opens a session of kind exec.
type ExecRequest struct {
	// Command is the program in the container and its arguments. They are in no event and no log of the node.
	Command []string `json:"command"`
	// Stdin opens the command's input for what the client sends; without, the command reads an empty input.
	Stdin bool `json:"stdin,omitzero"`
	// Terminal runs the command on a terminal of this size: its output is then one stream.
	Terminal *TerminalSize `json:"terminal,omitempty"`
}

// TerminalSize is the size of a terminal in characters.
type TerminalSize struct {
	Rows    uint16 `json:"rows"`
	Columns uint16 `json:"columns"`
}

// ExecResult is how a command has ended.
type ExecResult struct {
	ExitCode int32 `json:"exit_code"`
}

// ParseExecRequest reads a request. Its error says in a sentence what is wrong, and quotes nothing of the command.
func ParseExecRequest(body []byte) (ExecRequest, error) {
	var r ExecRequest
	if json.Unmarshal(body, &r, json.RejectUnknownMembers(true)) != nil {
		return r, errors.New(`the request cannot be parsed: write {"command":["/web","-check"],"stdin":true,"terminal":{"rows":24,"columns":80}}, or less of it`)
	}
	size := 0
	for _, word := range r.Command {
		size += len(word)
	}
	switch {
	case len(r.Command) == 0 || r.Command[0] == "":
		return r, errors.New(`there is no command: write {"command":["/web","-check"]}`)
	case len(r.Command) > MaxExecWords || size > MaxExecBytes:
		return r, fmt.Errorf("the command has %d words and %d bytes, more than %d or %d", len(r.Command), size, MaxExecWords, MaxExecBytes)
	}
	return r, nil
}
