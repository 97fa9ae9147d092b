package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/term"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus/session"
)

// sizeOf returns the size of a terminal.
func sizeOf(f *os.File) (events.TerminalSize, error) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return events.TerminalSize{}, fmt.Errorf("read the size of the terminal: %w", err)
	}
	return events.TerminalSize{Rows: uint16(rows), Columns: uint16(columns)}, nil
}

// converse connects the command to the streams here until it ends, and returns its exit code.
func (x *execution) converse(ctx context.Context, c *session.Conn) (code int32, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer c.Close(nil, nil)
	defer cancel()
	if x.terminal {
		sending.Go(func() { x.sendSizes(ctx, c) })
	}
	if x.terminal && x.input { // without -i, Ctrl-C must still reach this process
		before, err := term.MakeRaw(int(x.in.Fd()))
		if err != nil {
			return 0, fmt.Errorf("switch the terminal to raw mode: %w", err)
		}
		defer func() { err = errors.Join(err, term.Restore(int(x.in.Fd()), before)) }()
	}
	if x.input {
		go x.sendInput(ctx, c) // not awaited: it may block on a read of the terminal
	}
	return x.receive(ctx, c)
}

// receive copies the command's output until the command ends.
func (x *execution) receive(ctx context.Context, c *session.Conn) (int32, error) {
	for {
		f, err := c.Receive(ctx)
		if errors.Is(err, io.EOF) {
			var result events.ExecResult
			if err := json.Unmarshal(c.Result(), &result); err != nil {
				return 0, fmt.Errorf("read the command's result: %w", err)
			}
			return result.ExitCode, nil
		}
		if err != nil {
			return 0, err
		}
		x.wrote = true
		out := x.out
		if f.Kind == string(events.Stderr) {
			out = x.err
		}
		if _, err := out.Write(f.Body); err != nil {
			return 0, err
		}
	}
}

// sendInput sends standard input until its end. If the session ends first, sendInput ends after its next read.
func (x *execution) sendInput(ctx context.Context, c *session.Conn) {
	const size = 16 << 10
	part := make([]byte, size)
	for {
		n, err := x.in.Read(part)
		if n > 0 && c.Send(ctx, events.FrameStdin, append([]byte(nil), part[:n]...)) != nil {
			return
		}
		if err != nil {
			_ = c.Send(ctx, events.FrameStdinEnd, nil) // a session that has ended does not need it
			return
		}
	}
}

// sendSizes sends the size of the terminal whenever that changes.
func (x *execution) sendSizes(ctx context.Context, c *session.Conn) {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	for { // sends once at the start: the size may have changed since the session opened
		size, err := sizeOf(x.in)
		if err != nil {
			return // the terminal is gone
		}
		body, err := json.Marshal(size)
		if err != nil || c.Send(ctx, events.FrameSize, body) != nil {
			return
		}
		select {
		case <-resized:
		case <-ctx.Done():
			return
		}
	}
}
