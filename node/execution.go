package node

import (
	"io"

	"github.com/rookery-project/rookery/events"
)

// Execution is a command that is run in a container beside what runs there.
type Execution struct {
	Command []string
	// Input is what the command reads, until its end; nil for nothing. The engine closes it once the command has ended.
	Input io.ReadCloser
	// Terminal is the size of the terminal that it runs on, and Resized has each later one; nil for no terminal. What it writes to one
	// is all on Stdout.
	Terminal *events.TerminalSize
	Resized  <-chan events.TerminalSize
	// Output takes what the command writes, and holds it up until it returns. Parts are valid until then.
	Output func(stream events.Stream, part []byte) error
}
