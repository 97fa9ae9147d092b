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
	// startTimeout bounds how long Podman takes to begin a command.
	startTimeout = 15 * time.Second
	// hangUpGrace is how long a command has to end that was told to, before it is killed.
	hangUpGrace = 3 * time.Second
	// hangUpTimeout bounds all of that, and endedTimeout how long Podman takes to have the exit code of a command whose process has ended.
	hangUpTimeout = 10 * time.Second
	endedTimeout  = 5 * time.Second
	// endedEvery is how often Podman is asked meanwhile, and endedSeldom how often of a command that goes on without an output.
	endedEvery  = 20 * time.Millisecond
	endedSeldom = time.Second
)

// executed is what Podman says of a command: of one that has not begun that it neither runs nor can be removed.
type executed struct {
	Running   bool
	CanRemove bool // it has ended
	ExitCode  int32
	Pid       int
}

// Execute runs a command in the main container. Podman has no call that ends one: it is signalled as a process of this host, and the
// others of its group with it. Where the service's processes are not visible, its input and its terminal end, and no more can be done.
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

// startFailed is how a command ends that Podman did not start, as shells have it.
func startFailed(refused *refusal) (int32, error) {
	switch {
	case refused.says("executable file") || refused.says("no such file or directory"):
		return events.ExitCommandMissing, nil
	case refused.says("permission denied"):
		return events.ExitNotExecutable, nil
	}
	return 0, fmt.Errorf("starting the command: %w", refused)
}

// attach starts the command and returns the connection that it reads and writes. Whoever wants it no more waits for the start: Podman would
// go on with it, and a command that has not begun cannot be ended.
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
		return nil, errors.Join(fmt.Errorf("the connection is not handed over: the answer is %s", answer.Status), answer.Body.Close())
	}
	return connection, nil
}

// exchange hands on what the command reads and writes, until it writes no more. It closes the connection.
func (e *Engine) exchange(ctx context.Context, path string, connection io.ReadWriteCloser, run node.Execution) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	// Its end is what ends a read or a write that waits.
	beside.Go(func() {
		<-ctx.Done()
		_ = connection.Close() // what it has to say was said
		if run.Input != nil {
			_ = run.Input.Close() // nobody reads it any more
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

// feed writes all of the input, and says that it was all.
func feed(connection io.Writer, input io.Reader) {
	if _, err := io.Copy(connection, input); err != nil {
		return // the command has ended, or nobody wants it any more
	}
	if half, ok := connection.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // as above
	}
}

// resize sets each size of the terminal, and sets it again a second later: on a busy host Podman may lose a size that it gets while the command
// starts. A size that Podman refuses does no harm.
func (e *Engine) resize(ctx context.Context, path string, sizes <-chan events.TerminalSize) {
	var last events.TerminalSize
	var again <-chan time.Time
	for {
		select {
		case last = <-sizes:
			again = time.After(time.Second)
		case <-again:
			again = nil
		case <-ctx.Done():
			return
		}
		_ = e.do(ctx, request{method: http.MethodPost, path: path + "/resize", query: url.Values{
			"h": {strconv.Itoa(int(last.Rows))}, "w": {strconv.Itoa(int(last.Columns))},
		}}, nil)
	}
}

// readOutput hands over what the command writes: from a terminal as it is, else in frames that say of which stream it is.
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

// exitCode returns that of a command whose output has ended, as soon as Podman has it. One that has closed its output may run on, for as
// long as its process is to be seen.
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
			return 0, fmt.Errorf("the command has closed its output, and Podman does not say within %s that it has ended", endedTimeout)
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

// hangUp ends a command that nobody waits for, also one that is about to begin: as the end of its terminal does where it has one, else as it
// is asked to end; and then it is killed.
func (e *Engine) hangUp(ctx context.Context, path string, run node.Execution) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hangUpTimeout)
	defer cancel()
	asked := syscall.SIGTERM
	if run.Terminal != nil {
		asked = syscall.SIGHUP // what interactive shells end of
	}
	again := time.NewTicker(endedEvery)
	defer again.Stop()
	var told time.Time // zero until it was asked to end
	for ctx.Err() == nil {
		x, err := e.executed(ctx, path)
		switch {
		case gone(err) || err == nil && x.CanRemove:
			return // it has ended, or went with its container
		case err != nil || !x.Running: // Podman is busy with it
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

// signal sends the signal to the command and the others of its process group. Every command in a container has one of its own.
func (e *Engine) signal(pid int, s syscall.Signal) {
	if pid <= 1 || !e.visible {
		return
	}
	group, err := syscall.Getpgid(pid)
	if err == nil && group == pid {
		_ = syscall.Kill(-group, s) // who is gone needs none
		return
	}
	_ = syscall.Kill(pid, s) // as above
}
