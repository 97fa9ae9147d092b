package podman

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/watchdog"
)

// monitored is a container as its monitor knows it: where it writes the number of the process.
type monitored struct {
	ID      string `json:"Id"`
	PIDFile string `json:"PidFile"`
}

// Watchdog has exclusive containers be ended by a process of its own, which listens at the socket and is begun by the command where
// there is none. It is called before any other method, and at most once.
func (e *Engine) Watchdog(socket string, command ...string) {
	e.watchdog = &watchdog.Client{Socket: socket, Command: command}
}

// Guard implements node.Engine. Podman is asked about a container once: after that it may hang.
func (e *Engine) Guard(ctx context.Context, heard time.Time, guarded []node.Guarded) error {
	if e.watchdog == nil || !e.visible {
		return &node.Failure{
			Reason:  events.OfflineNotAllowed,
			Message: "the node does not see the processes of its Podman, and what is exclusive has to be ended without that: run the node on the host",
		}
	}
	var all []watchdog.Guarded
	for _, g := range guarded {
		for _, name := range append([]string{g.Container.Handle}, g.Container.Sidecars...) {
			m, err := e.monitoredBy(ctx, name)
			if gone(err) {
				continue // it has ended since
			}
			if err != nil {
				return fmt.Errorf("guarding the container of %s: %w", g.Container.Instance, err)
			}
			all = append(all, watchdog.Guarded{ID: m.ID, PIDFile: m.PIDFile, Window: g.Window})
		}
	}
	return e.watchdog.Guard(ctx, heard, all)
}

// monitoredBy finds out how the container's monitor knows it.
func (e *Engine) monitoredBy(ctx context.Context, name string) (monitored, error) {
	e.mu.Lock()
	m, known := e.monitored[name]
	e.mu.Unlock()
	if known {
		return m, nil
	}
	if err := e.do(ctx, request{method: http.MethodGet, path: containerPath(name, "/json")}, &m); err != nil {
		return m, err
	}
	if m.ID == "" || !filepath.IsAbs(m.PIDFile) {
		return m, fmt.Errorf("Podman does not say where container %s has its pid file: %q", name, m.PIDFile) //nolint:staticcheck // a name
	}
	e.mu.Lock()
	e.monitored[name] = m
	e.mu.Unlock()
	return m, nil
}
