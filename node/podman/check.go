package podman

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Check runs the container's health check: through its published port, or by a command inside. A command that does not end in time
// keeps running, because Podman can end it only together with its container.
func (e *Engine) Check(ctx context.Context, c node.Container, health events.Health, address string) error {
	switch {
	case health.HTTP != nil:
		target, err := published(c, health.HTTP.Port, address)
		if err != nil {
			return err
		}
		asked, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+target+health.HTTP.Path, nil)
		if err != nil {
			return err
		}
		return answered(asked, http.StatusBadRequest)
	case health.TCP != nil:
		target, err := published(c, health.TCP.Port, address)
		if err != nil {
			return err
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
		if err != nil {
			return err
		}
		return connection.Close()
	}
	return e.execute(ctx, c, health.Exec, nil)
}

// maxSaid is how many bytes of a bad answer an error quotes.
const maxSaid = 200

// published returns the address on the host at which the container's port of this name is published.
func published(c node.Container, name, address string) (string, error) {
	i := slices.IndexFunc(c.Ports, func(p events.PortBinding) bool { return p.Name == name })
	if i < 0 {
		return "", fmt.Errorf("the container has no port %q", name)
	}
	host := "127.0.0.1" // the ports of a node with a host name for its address are published on all
	if ip, err := netip.ParseAddr(address); err == nil && !ip.IsUnspecified() {
		host = ip.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(int(c.Ports[i].HostPort))), nil
}

// answered makes the request. It returns nil if the status of the answer is at least 200 and less than bad.
func answered(asked *http.Request, bad int) error {
	transport := &http.Transport{DisableKeepAlives: true} // a check must show whether the container accepts connections
	defer transport.CloseIdleConnections()
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(asked)
	if wrapped := new(url.Error); errors.As(err, &wrapped) {
		return wrapped.Err // without the address, which the reader knows
	}
	if err != nil {
		return err
	}
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= bad {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, maxSaid)) // what was read until an error explains as well
		err = fmt.Errorf("%s %s answered %s %s", asked.Method, asked.URL.RequestURI(), answer.Status, strings.Join(strings.Fields(string(said)), " "))
	}
	return errors.Join(err, answer.Body.Close())
}

// execute runs the command in the container, with these variables as well, and waits for its end.
func (e *Engine) execute(ctx context.Context, c node.Container, command, env []string) error {
	var made struct {
		ID string `json:"Id"`
	}
	err := e.do(ctx, request{method: http.MethodPost, path: containerPath(c.Handle, "/exec"), body: map[string]any{
		"Cmd": command, "Env": env, "AttachStdout": true, "AttachStderr": true,
	}}, &made)
	if err != nil {
		return err
	}
	path := "/exec/" + url.PathEscape(made.ID)
	answer, err := e.open(ctx, request{method: http.MethodPost, path: path + "/start", body: map[string]any{"Detach": false}})
	if err != nil {
		return err
	}
	// The output ends when the command does.
	_, err = io.Copy(io.Discard, answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	var ended struct {
		Running  bool
		ExitCode int
	}
	if err := e.do(ctx, request{method: http.MethodGet, path: path + "/json"}, &ended); err != nil {
		return err
	}
	if ended.Running || ended.ExitCode != 0 {
		return fmt.Errorf("%s ended with exit code %d", command[0], ended.ExitCode)
	}
	return nil
}
