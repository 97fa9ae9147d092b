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

// Start starts the container; Podman answers 304 where it runs already.
//
// A start that fails leaves its published ports taken by the service's own process, until the container is removed or
// started again. Nothing here can free them: whoever tries again does it with this container, or removes it first.
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

// Stop asks the container to end, and kills it after grace; Podman answers 304 where it does not run. Its sidecars follow.
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
	// Podman waits for word from the container's monitor. Where that was killed none comes, and the stop that did its
	// work is told as a failure: what counts is whether the process is still there.
	if found, lookErr := e.settle(ctx, handle); lookErr == nil && (found == nil || found.state() != node.Running) {
		return nil
	}
	return err
}

// Remove removes the container after its sidecars, with their anonymous volumes, running or not.
//
// Where the process and its monitor were killed, Podman fails to stop what is not there, writes down that it has
// stopped, and refuses: the second attempt succeeds.
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

// Tidy removes what a process has left which was killed in between: secrets of the owner's configs, and volumes that were filled in
// part.
func (e *Engine) Tidy(ctx context.Context, owner node.Owner) error {
	return errors.Join(e.tidyConfigs(ctx, owner), e.tidyFills(ctx, owner))
}
