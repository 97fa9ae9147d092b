package simulated

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Execute implements node.Engine. Its containers have these commands: "echo WORD…", "warn WORD…" on the other stream, "cat", "exit CODE",
// "sizes", which tells of each size of its terminal, and "wait", which goes on until it is ended.
func (e *Engine) Execute(ctx context.Context, c node.Container, run node.Execution) (int32, error) {
	e.mu.Lock()
	_, have := e.byHandle(c.Handle)
	runs := have != nil && have.State == node.Running
	e.mu.Unlock()
	if !runs {
		return 0, fmt.Errorf("execute in %s: it does not run", c.Handle)
	}
	if run.Input != nil {
		defer run.Input.Close() //nolint:errcheck // it is read as far as it is wanted
	}
	words := run.Command[1:]
	switch run.Command[0] {
	case "echo":
		return 0, run.Output(events.Stdout, []byte(strings.Join(words, " ")+"\n"))
	case "warn":
		return 0, run.Output(events.Stderr, []byte(strings.Join(words, " ")+"\n"))
	case "cat":
		return 0, copyAll(run)
	case "exit":
		code, err := strconv.ParseInt(strings.Join(words, ""), 10, 32)
		return int32(code), err
	case "sizes":
		return 0, tellSizes(ctx, run)
	case "wait":
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return events.ExitCommandMissing, nil
}

func copyAll(run node.Execution) error {
	const size = 4 << 10
	part := make([]byte, size)
	for run.Input != nil {
		n, err := run.Input.Read(part)
		if n > 0 {
			if err := run.Output(events.Stdout, part[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func tellSizes(ctx context.Context, run node.Execution) error {
	size := *run.Terminal
	for {
		if err := run.Output(events.Stdout, fmt.Appendf(nil, "%d %d\r\n", size.Rows, size.Columns)); err != nil {
			return err
		}
		select {
		case size = <-run.Resized:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
