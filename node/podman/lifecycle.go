package podman

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Start starts the container; Podman answers 304 if it already runs.
//
// After a failed start, Podman's service holds the published ports until the container is removed or started again. Start cannot free
// them: the caller must start this container again, or remove it first.
func (e *Engine) Start(ctx context.Context, c node.Container) error {
	err := e.do(ctx, request{method: http.MethodPost, path: containerPath(c.Handle, "/start")}, nil)
	switch refused := new(refusal); {
	case err == nil:
		e.announce(c.Handle)
		return e.startSidecars(ctx, c)
	case !errors.As(err, &refused):
		return fmt.Errorf("starting the container of %s: %w", c.Instance, err)
	case refused.says("address already in use"):
		return &node.Failure{Reason: events.OfflinePortConflict, Message: refused.Message}
	default:
		return createFailed(refused.Message)
	}
}

// Stop asks the container to end, and kills it after grace; Podman answers 304 if it does not run. Then Stop stops its sidecars.
func (e *Engine) Stop(ctx context.Context, c node.Container, grace time.Duration) error {
	if err := e.stop(ctx, c.Handle, grace); err != nil {
		return fmt.Errorf("stopping the container of %s: %w", c.Instance, err)
	}
	return e.stopSidecars(ctx, c, grace)
}

func (e *Engine) stop(ctx context.Context, handle string, grace time.Duration) error {
	err := e.do(ctx, request{
		method: http.MethodPost, path: containerPath(handle, "/stop"),
		query: url.Values{"timeout": {strconv.FormatUint(uint64(seconds(grace)), 10)}},
	}, nil)
	if err == nil || gone(err) {
		return nil
	}
	// Podman waits for a message from the container's monitor. If the monitor was killed, no message comes, and Podman reports a stop that
	// has worked as failed. The stop has succeeded if the process no longer runs.
	if found, lookErr := e.settle(ctx, handle); lookErr == nil && (found == nil || found.state() != node.Running) {
		return nil
	}
	return err
}

// Remove removes the container after its sidecars, with their anonymous volumes, running or not.
//
// If the process and its monitor were killed, Podman fails to stop the missing process, records the container as stopped, and refuses
// the removal. The second attempt succeeds.
func (e *Engine) Remove(ctx context.Context, c node.Container) error {
	for _, name := range c.Sidecars {
		if err := e.Remove(ctx, node.Container{Handle: name}); err != nil {
			return err
		}
	}
	defer e.forget(c.Handle) // at the end: the removal itself may be what ended the process
	refused := new(refusal)
	err := e.remove(ctx, c)
	if errors.As(err, &refused) && refused.says("could not be stopped") {
		err = e.remove(ctx, c)
	}
	if err == nil || gone(err) {
		return nil
	}
	return fmt.Errorf("removing container %s: %w", c.Handle, err)
}

func (e *Engine) remove(ctx context.Context, c node.Container) error {
	return e.do(ctx, request{
		method: http.MethodDelete, path: containerPath(c.Handle, ""),
		query: url.Values{"force": {"true"}, "volumes": {"true"}, "timeout": {"0"}},
	}, nil)
}

// Tidy removes what a killed process has left: secrets of the owner's configs, and partly filled volumes.
func (e *Engine) Tidy(ctx context.Context, owner node.Owner) error {
	return errors.Join(e.tidyConfigs(ctx, owner), e.tidyFills(ctx, owner))
}
