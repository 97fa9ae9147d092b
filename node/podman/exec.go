package podman

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// startTimeout is how long Podman may take to start a command.
	startTimeout = 15 * time.Second
	// sizeAgain is how long after a size of the terminal the node sets it again.
	sizeAgain = time.Second
	// hangUpGrace is how long a command has to end after the signal to do so, before the node kills it.
	hangUpGrace = 3 * time.Second
	// hangUpTimeout bounds the whole hang-up. endedTimeout is how long Podman may take to report the exit code of a command that has ended.
	hangUpTimeout = 10 * time.Second
	endedTimeout  = 5 * time.Second
	// endedEvery is how often the node asks Podman meanwhile, and endedSeldom how often for a command that runs on without an output.
	endedEvery  = 20 * time.Millisecond
	endedSeldom = time.Second
)

// executed is Podman's state of a command. A command that has not begun neither runs nor can be removed.
type executed struct {
	Running   bool
	CanRemove bool // it has ended
	ExitCode  int32
	Pid       int
}

// Execute runs a command in the main container. Podman has no call to end a command, so the node signals its process group on this
// host. If the service's processes are not visible, the node can only end the command's input and terminal.
func (e *Engine) Execute(ctx context.Context, c node.Container, run node.Execution) (int32, error) {
	var made struct {
		ID string `json:"Id"`
	}
	err := e.do(ctx, request{method: http.MethodPost, path: containerPath(c.Handle, "/exec"), body: map[string]any{
		"Cmd": run.Command, "Tty": run.Terminal != nil,
		"AttachStdin": run.Input != nil, "AttachStdout": true, "AttachStderr": true,
	}}, &made)
	if err != nil {
		return 0, fmt.Errorf("making the command: %w", err)
	}
	path := "/exec/" + url.PathEscape(made.ID)
	attached, err := e.attach(ctx, path, run)
	if refused := new(refusal); errors.As(err, &refused) {
		return startFailed(refused)
	}
	code := int32(0)
	if err != nil {
		err = fmt.Errorf("starting the command: %w", err)
	} else if err = e.exchange(ctx, path, attached, run); err == nil {
		code, err = e.exitCode(ctx, path)
	}
	if err != nil {
		e.hangUp(ctx, path, run)
	}
	return code, err
}

// startFailed returns the exit code of a command that Podman could not start, as a shell would report it.
func startFailed(refused *refusal) (int32, error) {
	switch {
	case refused.says("executable file") || refused.says("no such file or directory"):
		return events.ExitCommandMissing, nil
	case refused.says("permission denied"):
		return events.ExitNotExecutable, nil
	}
	return 0, fmt.Errorf("starting the command: %w", refused)
}

// attach starts the command and returns the connection that it reads and writes. It waits for the start even if ctx ends: Podman would
// start the command anyway, and the node can end it only once it has started.
func (e *Engine) attach(ctx context.Context, path string, run node.Execution) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	start := map[string]any{"Detach": false, "Tty": run.Terminal != nil}
	if run.Terminal != nil {
		start["h"], start["w"] = run.Terminal.Rows, run.Terminal.Columns
	}
	answer, err := e.open(ctx, request{
		method: http.MethodPost, path: path + "/start", body: start,
		header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"tcp"}},
	})
	if err != nil {
		return nil, err
	}
	connection, ok := answer.Body.(io.ReadWriteCloser)
	if !ok || answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("the connection was not handed over: Podman answered %s", answer.Status), answer.Body.Close())
	}
	return connection, nil
}

// exchange passes the command's input and output on until the output ends. It closes the connection.
func (e *Engine) exchange(ctx context.Context, path string, connection io.ReadWriteCloser, run node.Execution) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	// Closing the connection ends a read or a write that waits.
	beside.Go(func() {
		<-ctx.Done()
		_ = connection.Close() // all output has been read, or is not wanted
		if run.Input != nil {
			_ = run.Input.Close() // the command has ended, or its input is not wanted
		}
	})
	if run.Input != nil {
		beside.Go(func() { feed(connection, run.Input) })
	}
	if run.Terminal != nil {
		beside.Go(func() { e.resize(ctx, path, run.Resized) })
	}
	err := readOutput(connection, run)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// feed writes all of the input, and then closes the connection for writing.
func feed(connection io.Writer, input io.Reader) {
	if _, err := io.Copy(connection, input); err != nil {
		return // the command or the session has ended
	}
	if half, ok := connection.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // as above
	}
}

// resize sets each size of the terminal, and sets it again after sizeAgain, twice that, and so on: on a busy host Podman may lose a size that it
// gets before the command has started. The same size again does nothing, and one that Podman refuses does no harm.
func (e *Engine) resize(ctx context.Context, path string, sizes <-chan events.TerminalSize) {
	var last events.TerminalSize
	var again <-chan time.Time
	wait := sizeAgain
	for {
		select {
		case last = <-sizes:
			wait = sizeAgain
		case <-again:
			wait *= 2
		case <-ctx.Done():
			return
		}
		_ = e.do(ctx, request{method: http.MethodPost, path: path + "/resize", query: url.Values{
			"h": {strconv.Itoa(int(last.Rows))}, "w": {strconv.Itoa(int(last.Columns))},
		}}, nil)
		again = nil
		if wait <= startTimeout {
			again = time.After(wait)
		}
	}
}

// readOutput passes on the command's output. Podman sends that of a terminal as it is, and other output in frames that name the stream.
func readOutput(connection io.Reader, run node.Execution) error {
	const size = 16 << 10
	part := make([]byte, size)
	if run.Terminal != nil {
		return copyOutput(connection, part, events.Stdout, run.Output)
	}
	var header [frameHeader]byte
	for {
		if _, err := io.ReadFull(connection, header[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		frame := io.LimitReader(connection, int64(binary.BigEndian.Uint32(header[frameHeader-4:])))
		if err := copyOutput(frame, part, streamOf(header[0]), run.Output); err != nil {
			return err
		}
	}
}

func copyOutput(from io.Reader, part []byte, stream events.Stream, output func(events.Stream, []byte) error) error {
	for {
		n, err := from.Read(part)
		if n > 0 {
			if err := output(stream, part[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// exitCode returns the exit code of a command whose output has ended, as soon as Podman has it. The command may have closed its output
// and run on: exitCode waits as long as its process is visible.
func (e *Engine) exitCode(ctx context.Context, path string) (int32, error) {
	seen := time.Now()
	for every := endedEvery; ; every = min(2*every, endedSeldom) {
		x, err := e.executed(ctx, path)
		switch {
		case err != nil:
			return 0, fmt.Errorf("asking for the exit code: %w", err)
		case !x.Running:
			return x.ExitCode, nil
		case e.visible && x.Pid > 1 && syscall.Kill(x.Pid, 0) == nil:
			seen = time.Now()
		case time.Since(seen) > endedTimeout:
			return 0, fmt.Errorf("the command has closed its output, but Podman did not report its end within %s", endedTimeout)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (e *Engine) executed(ctx context.Context, path string) (x executed, err error) {
	ctx, cancel := context.WithTimeout(ctx, endedTimeout)
	defer cancel()
	err = e.do(ctx, request{method: http.MethodGet, path: path + "/json"}, &x)
	return x, err
}

// hangUp ends a command that no client waits for, even one that is about to begin. It sends SIGHUP if the command has a terminal, else
// SIGTERM, and SIGKILL after hangUpGrace.
func (e *Engine) hangUp(ctx context.Context, path string, run node.Execution) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hangUpTimeout)
	defer cancel()
	asked := syscall.SIGTERM
	if run.Terminal != nil {
		asked = syscall.SIGHUP // interactive shells end on this signal
	}
	again := time.NewTicker(endedEvery)
	defer again.Stop()
	var told time.Time // when it got the first signal; zero before
	for ctx.Err() == nil {
		x, err := e.executed(ctx, path)
		switch {
		case gone(err) || err == nil && x.CanRemove:
			return // it has ended, or its container has been removed
		case err != nil || !x.Running: // Podman is still starting or ending it
		case told.IsZero():
			told = time.Now()
			e.signal(x.Pid, asked)
		case time.Since(told) > hangUpGrace:
			e.signal(x.Pid, syscall.SIGKILL)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// signal sends the signal to the command's process group. Every command in a container has a group of its own.
func (e *Engine) signal(pid int, s syscall.Signal) {
	if pid <= 1 || !e.visible {
		return
	}
	group, err := syscall.Getpgid(pid)
	if err == nil && group == pid {
		_ = syscall.Kill(-group, s) // a process that is gone needs no signal
		return
	}
	_ = syscall.Kill(pid, s) // as above
}
