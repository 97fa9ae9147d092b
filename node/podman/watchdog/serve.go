package watchdog

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// seekEvery is how often the watchdog looks for the process of a container that has none yet. lookEvery is how often it checks the
	// clock and the processes otherwise.
	seekEvery = 5 * time.Millisecond
	lookEvery = 100 * time.Millisecond
	// seekFor is how long after the last message about a container the watchdog uses seekEvery. If Podman hangs for longer, the watchdog
	// notices the start a little later.
	seekFor = 10 * time.Minute
	// idleFor is how long a watchdog keeps running without containers to guard and without connections.
	idleFor = 5 * time.Second
)

// keeper is a running watchdog. The goroutine of run owns all fields below turns.
type keeper struct {
	asks  chan ask
	turns chan int // 1 for each new connection, -1 for each that has ended

	wards       map[string]*ward
	connections int
	idleSince   instant
}

type ask struct {
	message message
	reply   chan answer
}

// Listener is the descriptor under which a watchdog inherits its listening socket.
const Listener = 3

// Inherited returns the listening socket that the process was started with.
func Inherited() (*net.UnixListener, error) {
	file := os.NewFile(Listener, "listener")
	listener, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("descriptor %d is not a listening socket: let the node start its watchdog: %w", Listener, err)
	}
	socket, ok := listener.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("descriptor %d listens at %s, which is not a unix socket", Listener, listener.Addr()), listener.Close())
	}
	socket.SetUnlinkOnClose(true)
	return socket, nil
}

// Serve guards containers for nodes that connect to the socket, until it has been idle for idleFor. If ctx ends before, it kills all
// containers that it guards, because no other process would. It closes and removes the socket at its end.
func Serve(ctx context.Context, listener *net.UnixListener) error {
	ctx, cancel := context.WithCancel(ctx)
	k := &keeper{asks: make(chan ask), turns: make(chan int), wards: map[string]*ward{}}
	var serving sync.WaitGroup
	serving.Go(func() { k.accept(ctx, listener, &serving) })
	err := k.run(ctx)
	cancel()
	closeErr := listener.Close()
	serving.Wait()
	return errors.Join(err, closeErr)
}

func (k *keeper) accept(ctx context.Context, listener *net.UnixListener, serving *sync.WaitGroup) {
	for {
		connection, err := listener.AcceptUnix()
		if err != nil {
			return // Serve closes it only at its end
		}
		serving.Go(func() {
			defer func() { _ = connection.Close() }() // all answers are sent
			ended := context.AfterFunc(ctx, func() { _ = connection.Close() })
			defer ended()
			k.tell(ctx, 1)
			defer k.tell(ctx, -1)
			_ = k.converse(ctx, connection) // the node sees the error on its own side
		})
	}
}

func (k *keeper) tell(ctx context.Context, more int) {
	select {
	case k.turns <- more:
	case <-ctx.Done():
	}
}

// converse answers one message after the other.
func (k *keeper) converse(ctx context.Context, connection *net.UnixConn) error {
	if err := ours(connection); err != nil {
		return err
	}
	lines := bufio.NewScanner(connection)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		var a ask
		if err := json.Unmarshal(lines.Bytes(), &a.message); err != nil {
			return err
		}
		a.reply = make(chan answer, 1)
		select {
		case k.asks <- a:
		case <-ctx.Done():
			return nil
		}
		if err := say(connection, <-a.reply); err != nil {
			return err
		}
	}
	return lines.Err()
}

func say(to io.Writer, what any) error {
	line, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = to.Write(append(line, '\n'))
	return err
}

// ours refuses a connection of another user, who could otherwise claim later heartbeats and so keep containers running.
func ours(connection *net.UnixConn) error {
	socket, err := connection.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var peerErr error
	err = socket.Control(func(fd uintptr) { peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, peerErr); err != nil {
		return err
	}
	if int(peer.Uid) != os.Getuid() {
		return fmt.Errorf("user %d may not use this watchdog", peer.Uid)
	}
	return nil
}

// run checks the clock and the processes until the watchdog is idle.
func (k *keeper) run(ctx context.Context) error {
	defer func() {
		for _, w := range k.wards {
			w.release()
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return k.endAll()
		case more := <-k.turns:
			k.connections += more
		case a := <-k.asks:
			a.reply <- k.guard(a.message)
		case <-timer.C:
		}
		at, err := now()
		if err != nil {
			return err
		}
		_ = k.look(at) // the next message gets the errors that remain
		if k.idle(at) {
			return nil
		}
		timer.Reset(k.rest(at))
	}
}

// endAll kills every guarded container.
func (k *keeper) endAll() error {
	var failed []error
	for _, w := range k.wards {
		failed = append(failed, w.find(), w.end())
	}
	return errors.Join(failed...)
}

// guard guards the containers of the message, in addition to those already guarded.
func (k *keeper) guard(m message) answer {
	at, err := now()
	switch {
	case err != nil:
		return answer{Refused: err.Error()}
	case len(m.Guarded)+len(k.wards) > maxGuarded:
		return answer{Refused: fmt.Sprintf("more than %d containers", maxGuarded)}
	}
	for _, g := range m.Guarded {
		w := k.wards[g.ID]
		if w == nil {
			w = &ward{process: none, since: at}
			k.wards[g.ID] = w
		}
		w.Guarded, w.heard, w.named = g, max(w.heard, m.Heard), at
	}
	if err := k.look(at); err != nil {
		return answer{Refused: err.Error()}
	}
	return answer{Guarding: len(k.wards)}
}

// look finds processes, kills those whose window has passed and releases those that have ended.
func (k *keeper) look(at instant) error {
	var failed []error
	for id, w := range k.wards {
		failed = append(failed, w.find())
		if at >= w.heard.add(w.Window) {
			failed = append(failed, w.end())
		}
		if w.over(at) {
			w.release()
			delete(k.wards, id)
		}
	}
	return errors.Join(failed...)
}

// rest is how long the watchdog may wait until its next check.
func (k *keeper) rest(at instant) time.Duration {
	for _, w := range k.wards {
		if w.process == none && at-w.named < instant(seekFor) {
			return seekEvery
		}
	}
	return lookEvery
}

func (k *keeper) idle(at instant) bool {
	if len(k.wards) > 0 || k.connections > 0 || k.idleSince == 0 {
		k.idleSince = at
		return false
	}
	return at-k.idleSince > instant(idleFor)
}
