package podman

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// labelSidecars holds the names of a main container's sidecars. The node treats them all as one container.
	labelSidecars = events.ReservedLabel + "sidecars"
	// sidecarGrace is the longest time that sidecars have to end after the main container.
	sidecarGrace = 5 * time.Second
)

func sidecarNames(plan node.Plan) []string {
	if plan.Role != node.RoleMain {
		return nil
	}
	var names []string
	for _, s := range plan.Order.Spec.Sidecars {
		names = append(names, plan.Name()+"."+s.Name)
	}
	return names
}

// prepareSidecars creates the sidecars of a main container. It replaces existing ones, which may be in the network of an earlier
// main container.
func (e *Engine) prepareSidecars(ctx context.Context, plan node.Plan, main node.Container) error {
	names := sidecarNames(plan)
	for i, s := range plan.Order.Spec.Sidecars[:len(names)] {
		if err := e.Remove(ctx, node.Container{Handle: names[i]}); err != nil {
			return err
		}
		side := plan
		side.Role = node.RoleSidecar
		r, err := e.newContainer(side, program{image: s.Image, command: s.Command, args: s.Args, env: s.Env})
		if err != nil {
			return err
		}
		r.Name = names[i]
		r.NetNS = namespace{Mode: "container", Value: main.Handle}
		if plan.Order.Scratch > 0 {
			r.From = []string{main.Handle}
		}
		// Settings of the network and of the service's image apply only to the main container.
		r.Hostname, r.HostAdd, r.Sysctl, r.User, r.WorkDir = "", nil, nil, "", ""
		if _, err = e.createWithImage(ctx, r, plan); err != nil {
			return failure("sidecar "+s.Name+": ", plan, err)
		}
	}
	return nil
}

// failure returns the node's error for a create that Podman refused, with what before its message.
func failure(what string, plan node.Plan, err error) error {
	if refused := new(refusal); errors.As(err, &refused) {
		err = cmp.Or(secretMissing(plan, refused), createFailed(refused.Message))
	}
	if known := new(node.Failure); errors.As(err, &known) {
		return &node.Failure{Reason: known.Reason, Message: what + known.Message}
	}
	return fmt.Errorf("creating %s%w", what, err)
}

func (e *Engine) startSidecars(ctx context.Context, c node.Container) error {
	for _, name := range c.Sidecars {
		err := e.do(ctx, request{method: http.MethodPost, path: containerPath(name, "/start")}, nil)
		if refused := new(refusal); errors.As(err, &refused) {
			return createFailed("sidecar " + name + ": " + refused.Message)
		}
		if err != nil {
			return fmt.Errorf("starting sidecar %s: %w", name, err)
		}
		e.announce(name)
	}
	return nil
}

// stopSidecars stops all sidecars at once, after the main container, which may need them until its end.
func (e *Engine) stopSidecars(ctx context.Context, c node.Container, grace time.Duration) error {
	errs := make([]error, len(c.Sidecars))
	var stopping sync.WaitGroup
	for i, name := range c.Sidecars {
		stopping.Go(func() { errs[i] = e.stop(ctx, name, min(grace, sidecarGrace)) })
	}
	stopping.Wait()
	return errors.Join(errs...)
}

// whole returns the main container as the node sees it, together with its sidecars, by name. The end of a sidecar is the end of the whole.
// If a sidecar does not run yet, the whole counts as created, so that the node starts it; starting a part twice is harmless.
func whole(main node.Container, found map[string]node.Container) node.Container {
	if len(main.Sidecars) == 0 {
		return main
	}
	mainRuns, ready := main.State == node.Running, true
	for _, name := range main.Sidecars {
		side, ok := found[name]
		switch {
		case !ok || side.State == node.Created:
			ready = false
		case side.State == node.Running:
			main.Beside = true
		case main.State == node.Running:
			main.State, main.ExitCode, main.OOMKilled = node.Exited, side.ExitCode, side.OOMKilled
			main.Ended = name[strings.LastIndexByte(name, '.')+1:]
		}
	}
	main.Beside = main.State == node.Exited && (main.Beside || mainRuns)
	if main.State == node.Running && !ready {
		main.State = node.Created
	}
	return main
}

// withSidecars inspects the sidecars of a main container, and returns the whole.
func (e *Engine) withSidecars(ctx context.Context, owner node.Owner, main node.Container) (node.Container, error) {
	found := map[string]node.Container{}
	for _, name := range main.Sidecars {
		side, err := e.settle(ctx, name)
		if err != nil {
			return main, err
		}
		if side == nil {
			continue
		}
		if c, err := side.container(owner); err == nil {
			found[name] = e.blame(c)
		}
	}
	return whole(main, found), nil
}

// join merges each main container with its sidecars.
func join(all map[string]node.Container) []node.Container {
	joined := make([]node.Container, 0, len(all))
	for _, c := range all {
		if c.Role != node.RoleSidecar {
			joined = append(joined, whole(c, all))
		}
	}
	return joined
}
