// Package remote runs commands on other hosts by SSH, with the keys of an agent and of ~/.ssh. It talks to no host whose key is not in
// ~/.ssh/known_hosts. It reads no other file of OpenSSH.
//
//	host, err := remote.Dial(ctx, "root@10.0.0.1:22")
//	code, err := host.Run(ctx, "systemctl is-active rookery-node", nil, os.Stdout)
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"
)

const (
	// dialFor is how long a host may take to answer.
	dialFor = 10 * time.Second
	// lostFor is how long a host may be lost until a connection to it ends.
	lostFor = 20 * time.Second
)

// Host is another host, with a connection to it.
type Host struct {
	client *ssh.Client
	// done are other connections, as to an agent.
	done []io.Closer
}

// Dial connects to a target as in root@10.0.0.1:22; user and port may be left out. It tries the keys of the agent, and those in ~/.ssh that have no
// passphrase.
func Dial(ctx context.Context, target string) (*Host, error) {
	user, address := "root", target
	if before, after, named := strings.Cut(target, "@"); named {
		user, address = before, after
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		address = net.JoinHostPort(strings.Trim(address, "[]"), "22")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	known, err := knownhosts.New(filepath.Join(home, ".ssh", "known_hosts"))
	if err != nil {
		return nil, fmt.Errorf("read the keys of known hosts: %w: log in there once with ssh", err)
	}
	signers, done, err := keys(ctx, filepath.Join(home, ".ssh"))
	h := &Host{done: done}
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	config := &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signers...)}, HostKeyCallback: known, HostKeyAlgorithms: algorithms(known, address), Timeout: dialFor,
	}
	conn, err := dialer().DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if err := conn.SetDeadline(time.Now().Add(dialFor)); err != nil {
		return nil, errors.Join(err, conn.Close(), h.Close())
	}
	made, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil { // which has closed the connection
		return nil, errors.Join(advised(err), h.Close())
	}
	h.client = ssh.NewClient(made, channels, requests)
	return h, conn.SetDeadline(time.Time{})
}

// dialer makes connections that end when the host is lost, whether or not there is data on the way.
func dialer() *net.Dialer {
	const times = 3
	return &net.Dialer{
		Timeout:         dialFor,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: lostFor / (times + 1), Interval: lostFor / (times + 1), Count: times},
		Control: func(_, _ string, c syscall.RawConn) error {
			var set error
			err := c.Control(func(fd uintptr) {
				set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(lostFor.Milliseconds()))
			})
			return errors.Join(err, set)
		},
	}
}

// advised adds what to do to an error of a connection.
func advised(err error) error {
	var unknown *knownhosts.KeyError
	switch {
	case errors.As(err, &unknown) && len(unknown.Want) > 0:
		return fmt.Errorf("%w: the host has another key than before: find out why, and repair ~/.ssh/known_hosts", err)
	case errors.As(err, &unknown):
		return fmt.Errorf("%w: log in there once with ssh, and compare its key", err)
	}
	return fmt.Errorf("%w: log in there with ssh, and give the key to an agent if it has a passphrase", err)
}

// algorithms are those of the keys that are known of a host: it must not choose another key, which would not be known.
func algorithms(known ssh.HostKeyCallback, address string) (all []string) {
	var unknown *knownhosts.KeyError
	// The callback names the known keys where it is shown another one.
	if err := known(address, &net.TCPAddr{}, noKey{}); errors.As(err, &unknown) {
		for _, k := range unknown.Want {
			if k.Key.Type() == ssh.KeyAlgoRSA {
				all = append(all, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
				continue
			}
			all = append(all, k.Key.Type())
		}
	}
	return all
}

// noKey is a key that no host has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no host has this key") }

// keys returns the keys of the agent, and those in the folder.
func keys(ctx context.Context, folder string) (all []ssh.Signer, done []io.Closer, err error) {
	// A variable may name an agent that has ended.
	if conn, err := (&net.Dialer{Timeout: dialFor}).DialContext(ctx, "unix", os.Getenv("SSH_AUTH_SOCK")); err == nil {
		done = append(done, conn)
		err = conn.SetDeadline(time.Now().Add(dialFor))
		if err == nil {
			all, err = agent.NewClient(conn).Signers()
		}
		if err != nil {
			return nil, done, fmt.Errorf("ask the agent of SSH_AUTH_SOCK for its keys: %w", err)
		}
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, done, err
		}
		if key, err := ssh.ParsePrivateKey(text); err == nil { // else it has a passphrase, and an agent has it
			all = append(all, key)
		}
	}
	return all, done, nil
}

// Close ends the connection.
func (h *Host) Close() error {
	var errs []error
	if h.client != nil {
		errs = append(errs, h.client.Close())
	}
	for _, d := range h.done {
		errs = append(errs, d.Close())
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, net.ErrClosed) }) // the host has closed it before
	return errors.Join(errs...)
}

// Run runs a line of the user's shell, and returns its exit code. The line must read all of the input, and out gets everything that it prints. If the
// context ends first, the connection to the host ends too; the line may still run there.
func (h *Host) Run(ctx context.Context, line string, in io.Reader, out io.Writer) (code int, err error) {
	stop := context.AfterFunc(ctx, func() { _ = h.client.Close() }) // a session alone would wait for the host
	defer stop()
	session, err := h.client.NewSession()
	if err != nil {
		return 0, cmp.Or(ctx.Err(), err)
	}
	// A session writes both outputs at once.
	pipe := &serial{to: out}
	session.Stdin, session.Stdout, session.Stderr = in, pipe, pipe
	err = session.Run(line)
	var ended *ssh.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.As(err, &ended) && ended.Signal() == "":
		return ended.ExitStatus(), nil
	}
	return 0, err
}
