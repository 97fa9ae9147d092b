package podman

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// noticeWithin is how long Podman may take to notice that a process has ended before the engine reports the end without it.
	noticeWithin = 2 * time.Second
	// noticeEvery is how often the engine asks meanwhile.
	noticeEvery = 5 * time.Millisecond
	// unknownExit is the exit code of a process whose monitor was killed with it, so that the true exit code is lost.
	unknownExit = -1
)

// errForeign occurs when a container belongs to another owner.
var errForeign = errors.New("the container is another owner's")

type listed struct {
	ID       string            `json:"Id"`
	Names    []string          `json:"Names"`
	State    string            `json:"State"`
	Pid      int               `json:"Pid"`
	ExitCode int32             `json:"ExitCode"`
	Labels   map[string]string `json:"Labels"`
}

type inspected struct {
	ID    string `json:"Id"`
	State struct {
		Status    string `json:"Status"`
		Pid       int    `json:"Pid"`
		ConmonPid int    `json:"ConmonPid"`
		ExitCode  int32  `json:"ExitCode"`
		OOMKilled bool   `json:"OOMKilled"`
	} `json:"State"`
	Config struct {
		Labels map[string]string `json:"Labels"`
	} `json:"Config"`
}

// List returns the owner's containers. It omits containers with invalid labels, and the node leaves these alone.
func (e *Engine) List(ctx context.Context, owner node.Owner) ([]node.Container, error) {
	rows, err := e.rows(ctx, owner)
	if err != nil {
		return nil, err
	}
	containers := make(map[string]node.Container, len(rows))
	for _, row := range rows {
		found := row.inspected()
		switch {
		case e.outlived(found):
			if found, err = e.orphan(ctx, row.ID); err != nil {
				return nil, fmt.Errorf("listing containers: %w", err)
			}
		case found.state() == node.Exited && found.State.ExitCode == killed:
			if found, err = e.look(ctx, row.ID); err != nil { // a list does not say whether the kernel killed it
				return nil, fmt.Errorf("listing containers: %w", err)
			}
		}
		if found == nil {
			continue // it was removed since
		}
		if c, err := found.container(owner); err == nil {
			containers[row.name()] = e.blame(c)
		}
	}
	return join(containers), nil
}

func (e *Engine) rows(ctx context.Context, owner node.Owner) ([]listed, error) {
	query := filters(map[string][]string{"label": owner.Matchers()})
	query.Set("all", "true")
	for tries := 1; ; tries++ {
		var rows []listed
		err := e.do(ctx, request{method: http.MethodGet, path: "/containers/json", query: query}, &rows)
		switch {
		case err == nil:
			return rows, nil
		case !gone(err) || tries == listTries:
			return nil, fmt.Errorf("listing containers: %w", err)
		}
	}
}

// listTries is how often the engine asks for a list. If a container is removed while Podman inspects it, Podman fails the whole list.
const listTries = 3

// Inspect returns the container of the instance. If its process has just ended, Inspect waits until Podman has the exit code, which takes
// a moment.
func (e *Engine) Inspect(ctx context.Context, owner node.Owner, id events.InstanceID) (*node.Container, error) {
	name := node.Plan{Owner: owner, Instance: id}.Name()
	found, err := e.justEnded(ctx, owner, id)
	if found == nil && err == nil {
		found, err = e.settle(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("inspecting container %s: %w", name, err)
	}
	if found == nil {
		return nil, nil
	}
	c, err := found.container(owner)
	if err != nil || c.Instance != id {
		return nil, nil // the container is foreign
	}
	if c, err = e.withSidecars(ctx, owner, e.blame(c)); err != nil {
		return nil, fmt.Errorf("inspecting container %s: %w", name, err)
	}
	return &c, nil
}

// look asks Podman for the container by handle or name, and returns nil if it does not exist.
func (e *Engine) look(ctx context.Context, container string) (*inspected, error) {
	var found inspected
	err := e.do(ctx, request{
		method: http.MethodGet, path: containerPath(container, "/json"), query: url.Values{"size": {"false"}},
	}, &found)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if found.state() == node.Running {
		e.learn(found.State.ConmonPid)
	}
	return &found, nil
}

// settle asks Podman about the container until Podman's answer agrees with the host's processes, or the container's monitor has written
// the exit code. If the monitor is dead too, or noticeWithin has passed, settle returns unknownExit.
func (e *Engine) settle(ctx context.Context, container string) (*inspected, error) {
	began := time.Now()
	for orphaned := false; ; {
		found, err := e.look(ctx, container)
		if err != nil || !e.outlived(found) {
			return found, err
		}
		if orphaned || time.Since(began) > noticeWithin {
			return found.ended(unknownExit), nil
		}
		orphaned = !alive(found.State.ConmonPid)
		code, ok, err := e.awaitExit(ctx, found.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			return found.ended(code), nil
		}
	}
}

// orphan is settle for a list, which must not wait. While the monitor of an ended process lives, Podman is about to record the exit: then
// the list still has the container as running, and the hint of its exit brings the exit code.
func (e *Engine) orphan(ctx context.Context, container string) (*inspected, error) {
	found, err := e.look(ctx, container)
	if err != nil || !e.outlived(found) || alive(found.State.ConmonPid) {
		return found, err
	}
	return e.settle(ctx, container)
}

// outlived reports whether Podman lists a container as running although its process has ended.
func (e *Engine) outlived(c *inspected) bool {
	return c != nil && e.visible && c.state() == node.Running && c.State.Pid > 0 && !alive(c.State.Pid)
}

func (i *inspected) ended(code int32) *inspected {
	i.State.Status, i.State.ExitCode = "exited", code
	return i
}

// state returns what Podman's many states mean to a node. A container with a process runs, even if it is stopping or paused: otherwise
// the node could start a second one beside it.
func (i *inspected) state() node.State {
	switch i.State.Status {
	case "created", "configured", "initialized":
		return node.Created
	case "exited", "stopped", "removing", "dead":
		return node.Exited
	}
	return node.Running
}

// container returns the node's view of the container, or an error if it is not the owner's.
func (i *inspected) container(owner node.Owner) (node.Container, error) {
	labels := i.Config.Labels
	if labels[node.LabelCluster] != owner.Cluster || labels[node.LabelNode] != owner.Node {
		return node.Container{}, errForeign
	}
	c, err := node.ParseLabels(labels)
	if err != nil {
		return node.Container{}, err
	}
	c.Handle, c.State = i.ID, i.state()
	if c.State == node.Exited {
		c.ExitCode = i.State.ExitCode
		c.OOMKilled = i.State.OOMKilled && c.ExitCode == killed
	}
	if text := labels[labelSidecars]; text != "" {
		c.Sidecars = strings.Split(text, ",")
	}
	if text, ok := labels[labelImages]; ok {
		if err := json.Unmarshal([]byte(text), &c.Images); err != nil {
			return node.Container{}, fmt.Errorf("label %s: %w", labelImages, err)
		}
	}
	if text, ok := labels[labelPorts]; ok {
		if err := json.Unmarshal([]byte(text), &c.Ports); err != nil {
			return node.Container{}, fmt.Errorf("label %s: %w", labelPorts, err)
		}
	}
	if c.BeforeStop, err = beforeStop(labels); err != nil {
		return node.Container{}, err
	}
	return c, nil
}

// name identifies the container in a list.
func (l listed) name() string {
	if len(l.Names) > 0 {
		return l.Names[0]
	}
	return l.ID
}

func (l listed) inspected() *inspected {
	i := &inspected{ID: l.ID}
	i.State.Status, i.State.Pid, i.State.ExitCode = l.State, l.Pid, l.ExitCode
	i.Config.Labels = l.Labels
	return i
}
