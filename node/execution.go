package node

import (
	"io"

	"github.com/rookery-project/rookery/events"
)

// Execution is a command to run in a running container.
type Execution struct {
	Command []string
	// Input is what the command reads, until its end; nil for nothing. The engine closes it once the command has ended.
	Input io.ReadCloser
	// Terminal is the size of the terminal that the command runs on, and Resized has each later size; nil for no terminal. On a
	// terminal, all output of the command arrives on Stdout.
	Terminal *events.TerminalSize
	Resized  <-chan events.TerminalSize
	// Output takes what the command writes. The command waits until Output returns, and a part is valid until then.
	Output func(stream events.Stream, part []byte) error
}
