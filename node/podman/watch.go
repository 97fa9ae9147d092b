package podman

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// startsWaiting is how many started containers may wait for their pidfd. The event stream covers the rest.
	startsWaiting = 1024
	// lookWithin bounds the inspection of a started container, so that one that hangs does not delay the others.
	lookWithin = 2 * time.Second
)

// event is one line of Podman's event stream, which has Docker's shape.
type event struct {
	Action string `json:"Action"`
	Actor  struct {
		ID         string            `json:"ID"`
		Attributes map[string]string `json:"Attributes"`
	} `json:"Actor"`
}

// watch is one call of Watch.
type watch struct {
	engine *Engine
	owner  node.Owner
	// starts are the handles of started containers.
	starts chan string
	exits  *exits
	hint   func(events.InstanceID)
}

// Watch hints at exits within about a millisecond if the containers' processes are visible to the node. Otherwise, and for removals, it
// uses Podman's event stream, which is up to 250 ms late. It fails when the stream ends before ctx. Hints come one at a time; one that
// blocks delays those after it.
func (e *Engine) Watch(ctx context.Context, owner node.Owner, ready func(), hint func(events.InstanceID)) error {
	var one sync.Mutex
	w := &watch{engine: e, owner: owner, starts: make(chan string, startsWaiting), hint: func(id events.InstanceID) {
		one.Lock()
		defer one.Unlock()
		hint(id)
	}}
	var err error
	if w.exits, err = newExits(w.ended); err != nil {
		return fmt.Errorf("watching containers: %w", err)
	}
	watching, end := context.WithCancelCause(ctx)
	var following, polling sync.WaitGroup
	polling.Go(func() {
		// If this fails, every hint would be late for no visible reason, so the failure ends the watch.
		if err := w.exits.run(); err != nil {
			end(err)
		}
	})
	e.subscribe(w.starts)
	following.Go(func() { w.follow(watching) })
	end(w.read(watching, ready))
	e.unsubscribe(w.starts)
	following.Wait()
	closeErr := w.exits.close()
	polling.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watching containers: %w", errors.Join(context.Cause(watching), closeErr))
}

// read calls ready once the stream is open and the process of every container that ran before is watched, and reads
// the stream until its end.
func (w *watch) read(ctx context.Context, ready func()) error {
	query := filters(map[string][]string{
		"type":  {"container"},
		"event": {"start", "died", "remove"},
		// Podman matches any of several labels here, so the engine checks the node's own label below.
		"label": {w.owner.Matchers()[0]},
	})
	query.Set("stream", "true")
	answer, err := w.engine.open(ctx, request{method: http.MethodGet, path: "/events", query: query})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it ends with ctx, in the middle
	rows, err := w.engine.rows(ctx, w.owner)
	if err != nil {
		return err
	}
	for _, row := range rows {
		w.attend(row.inspected())
	}
	ready()
	for lines := json.NewDecoder(answer.Body); ; {
		var line event
		if err := lines.Decode(&line); err != nil {
			return fmt.Errorf("the event stream ended: %w", err)
		}
		w.took(line)
	}
}

func (w *watch) took(line event) {
	found := &inspected{ID: line.Actor.ID}
	found.Config.Labels = line.Actor.Attributes
	c, err := found.container(w.owner)
	if err != nil {
		return
	}
	if line.Action != "start" {
		w.hint(c.Instance)
		return
	}
	select {
	case w.starts <- c.Handle:
	default: // too many wait: the event of its end gives the hint
	}
}

// follow watches the process of every container that is started. It inspects them beside the event stream, because a Podman that hangs
// must not delay the hints.
func (w *watch) follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case handle := <-w.starts:
			if w.engine.visible && !w.exits.has(handle) {
				w.lookAt(ctx, handle)
			}
		}
	}
}

func (w *watch) lookAt(ctx context.Context, handle string) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	if found, err := w.engine.look(ctx, handle); err == nil && found != nil {
		w.attend(found)
	}
}

// attend watches the container's process where it runs.
func (w *watch) attend(found *inspected) {
	c, err := found.container(w.owner)
	if err == nil && w.engine.visible && c.State == node.Running && found.State.Pid > 0 {
		w.exits.add(found.State.Pid, watched{handle: c.Handle, instance: c.Instance, found: found, oom: oomCounter(found.State.Pid)})
	}
	if err == nil && c.State == node.Exited {
		w.hint(c.Instance)
	}
}

func (w *watch) ended(gone watched) {
	w.engine.remember(gone)
	w.hint(gone.instance)
}

func (e *Engine) subscribe(starts chan string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.watchers[starts] = struct{}{}
}

func (e *Engine) unsubscribe(starts chan string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.watchers, starts)
}

// announce tells all watches of a started container at once: the event of it comes up to 250 ms later, and a process
// that ends before would be told as late.
func (e *Engine) announce(handle string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for starts := range e.watchers {
		select {
		case starts <- handle:
		default: // so many at once: the event tells
		}
	}
}
