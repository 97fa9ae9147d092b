package watchdog

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Client speaks to the watchdog at a socket, and begins one where there is none.
type Client struct {
	// Socket is where it listens, and Command the program that serves there, with its arguments.
	Socket  string
	Command []string

	mu         sync.Mutex
	connection net.Conn
	answers    *bufio.Reader
	begun      *os.Process // the last that was
}

// answersWithin bounds one call: a watchdog that is stopped keeps no others waiting for long.
const answersWithin = 2 * time.Second

// longestPath is what an address of a socket has room for.
const longestPath = 107

// Guard has the watchdog guard the containers beside what it guards already, and count every window from the time at which the node
// was heard. It returns once it does.
func (c *Client) Guard(ctx context.Context, heard time.Time, containers []Guarded) error {
	at, err := now()
	if err != nil {
		return err
	}
	m := message{Heard: at.add(-time.Since(heard)), Guarded: containers}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.connection != nil && c.exchange(ctx, m) == nil {
		return nil
	}
	for range 2 { // one that has just found nothing to do may end before it answers
		if err = c.connect(ctx); err != nil {
			return fmt.Errorf("reaching the watchdog: %w", err)
		}
		if err = c.exchange(ctx, m); err == nil {
			return nil
		}
	}
	return err
}

// Close ends the connection. The watchdog keeps running.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop()
}

func (c *Client) drop() error {
	if c.connection == nil {
		return nil
	}
	err := c.connection.Close()
	c.connection = nil
	return err
}

// exchange sends the message and reads the answer. It drops a connection that fails.
func (c *Client) exchange(ctx context.Context, m message) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("asking the watchdog: %w", err), c.drop())
		}
	}()
	deadline, _ := ctx.Deadline() // the zero time stands for no deadline
	if err := c.connection.SetDeadline(deadline); err != nil {
		return err
	}
	if err := say(c.connection, m); err != nil {
		return err
	}
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		return err
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	if a.Refused != "" {
		return errors.New(a.Refused)
	}
	return nil
}

// connect connects to the running watchdog, or starts one.
func (c *Client) connect(ctx context.Context) error {
	if c.dial(ctx) == nil {
		return nil
	}
	if err := c.begin(ctx); err != nil {
		return err
	}
	return c.dial(ctx)
}

func (c *Client) dial(ctx context.Context) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return err
	}
	c.connection, c.answers = connection, bufio.NewReader(connection)
	return nil
}

// begin starts a watchdog that inherits the socket, in a session of its own: Ctrl-C and the like, which end this process's session, do
// not end the watchdog.
func (c *Client) begin(ctx context.Context) error {
	c.collect()
	listener, err := listen(ctx, c.Socket)
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false)
	file, err := listener.File()
	if err != nil {
		return errors.Join(err, listener.Close(), os.Remove(c.Socket))
	}
	cmd := exec.Command(c.Command[0], c.Command[1:]...) //nolint:gosec,noctx // the node's own program, which is to outlive it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{file} // as Listener
	err = cmd.Start()
	if err != nil {
		err = errors.Join(err, os.Remove(c.Socket))
	}
	c.begun = cmd.Process
	return errors.Join(err, file.Close(), listener.Close())
}

// collect has the kernel forget the one before, where that has ended.
func (c *Client) collect() {
	if c.begun != nil {
		_, _ = unix.Wait4(c.begun.Pid, nil, unix.WNOHANG, nil)
		_ = c.begun.Release() // what it says is of no use
		c.begun = nil
	}
}

// listen takes the socket over from a watchdog that was killed.
func listen(ctx context.Context, socket string) (*net.UnixListener, error) {
	if len(socket) > longestPath {
		return nil, fmt.Errorf("the path of the watchdog's socket, %s, is longer than %d bytes: have Podman listen in a folder with a shorter path", socket, longestPath)
	}
	address := &net.UnixAddr{Name: socket, Net: "unix"}
	listener, err := net.ListenUnix("unix", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		if other, err := (&net.Dialer{}).DialContext(ctx, "unix", socket); err == nil {
			return nil, errors.Join(fmt.Errorf("another watchdog serves %s by now", socket), other.Close())
		}
		if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		listener, err = net.ListenUnix("unix", address)
	}
	if err != nil {
		return nil, err
	}
	const ownersAlone = 0o600
	return listener, os.Chmod(socket, ownersAlone)
}
