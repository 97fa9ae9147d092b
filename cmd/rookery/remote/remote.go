// Package remote runs commands on other hosts by SSH, as the user and with the keys that OpenSSH would use. It talks to no host whose key is not known.
//
//	host, err := remote.Dial(ctx, "root@10.0.0.1:22")
//	code, err := host.Run(ctx, "systemctl is-active rookery-node", nil, os.Stdout)
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// dialFor is how long a host may take to answer.
const dialFor = 10 * time.Second

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
	conn, err := (&net.Dialer{Timeout: dialFor}).DialContext(ctx, "tcp", address)
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
	if socket := os.Getenv("SSH_AUTH_SOCK"); socket != "" {
		conn, err := (&net.Dialer{Timeout: dialFor}).DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, nil, fmt.Errorf("ask the agent of SSH_AUTH_SOCK: %w", err)
		}
		done = append(done, conn)
		if all, err = agent.NewClient(conn).Signers(); err != nil {
			return nil, done, fmt.Errorf("ask the agent of SSH_AUTH_SOCK: %w", err)
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
	return errors.Join(errs...)
}

// Run runs a line of the user's shell, and returns its exit code. The line reads the input, and out gets everything that it prints.
func (h *Host) Run(ctx context.Context, line string, in io.Reader, out io.Writer) (code int, err error) {
	session, err := h.client.NewSession()
	if err != nil {
		return 0, err
	}
	// A session writes both outputs at once.
	pipe := &serial{to: out}
	session.Stdin, session.Stdout, session.Stderr = in, pipe, pipe
	stop := context.AfterFunc(ctx, func() { _ = session.Close() }) // which ends Run
	defer stop()
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
