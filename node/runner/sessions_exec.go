package runner

import (
	"context"
	"io"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
	"github.com/rookery-project/rookery/node"
)

// serveExec runs a command in an instance's container. It sends the command's output to the client and the client's input to the
// command, each only as fast as the receiver takes it. The end of the session ends the command.
func (a *Agent) serveExec(ctx context.Context, s *session.Conn, opened events.Message) ([]byte, error) {
	asked, err := events.ParseExecRequest(opened.Body)
	if err != nil {
		return nil, &bus.QuestionError{Code: 400, Reason: err.Error()}
	}
	c, err := a.sought(ctx, opened)
	if err != nil {
		return nil, err
	}
	if c.State != node.Running {
		return nil, &bus.QuestionError{Code: 409, Reason: "the container of " + c.Instance.String() + " does not run"}
	}
	a.Log.Info("a client runs a command", "instance", c.Instance.String(), "terminal", asked.Terminal != nil, "session", opened.Subject)
	ctx, cancel := context.WithCancel(ctx)
	var receiving sync.WaitGroup
	defer receiving.Wait()
	defer cancel()
	input, in := io.Pipe()
	defer input.Close() //nolint:errcheck // it never fails
	resized := make(chan events.TerminalSize, 1)
	receiving.Go(func() { in.CloseWithError(receiveInput(ctx, s, in, resized)) })
	run := node.Execution{
		Command: asked.Command, Terminal: asked.Terminal, Resized: resized,
		Output: func(stream events.Stream, part []byte) error { return s.Send(ctx, string(stream), part) },
	}
	if asked.Stdin {
		run.Input = input
	}
	code, err := a.Engine.Execute(ctx, c, run)
	a.Log.Info("a command has ended", "instance", c.Instance.String(), "exit_code", code, "error", err)
	if err != nil {
		return nil, told(err)
	}
	return json.Marshal(events.ExecResult{ExitCode: code})
}

// receiveInput passes the client's input to the command until the command or the session ends.
func receiveInput(ctx context.Context, s *session.Conn, in io.WriteCloser, resized chan events.TerminalSize) error {
	for {
		f, err := s.Receive(ctx)
		if err != nil {
			return err
		}
		switch f.Kind {
		case events.FrameStdin:
			if _, err := in.Write(f.Body); err != nil {
				in = discarding{} // the command no longer reads its input, but may still run
			}
		case events.FrameStdinEnd:
			if err := in.Close(); err != nil {
				return err
			}
		case events.FrameSize:
			var size events.TerminalSize
			if err := json.Unmarshal(f.Body, &size); err != nil {
				continue // the next size may be valid
			}
			select {
			case <-resized: // the last one counts
			default:
			}
			resized <- size
		}
	}
}

// discarding drops input that the command does not read.
type discarding struct{}

func (discarding) Write(p []byte) (int, error) { return len(p), nil }
func (discarding) Close() error                { return nil }
