// Package simulated is the Engine in memory: containers that start at once, run until they are told otherwise and cost
// nothing. It keeps Podman's rules that the node relies on: one container a name, exits that are seen, hints that may
// be lost.
package simulated

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Engine is a node.Engine in memory. Its containers outlive the node's process, as real ones do.
type Engine struct {
	capacity events.Capacity

	mu         sync.Mutex
	made       int
	containers map[key]*node.Container
	refused    map[string]*node.Failure
	tags       map[string]string
	usage      map[events.InstanceID]node.Usage
	used       map[string]node.Stats       // by handle
	configs    map[key]map[string][]byte   // that containers were made with, by name
	printed    map[string][]events.LogLine // by containers, by handle
	changed    chan struct{}               // closed when a line is printed, or a container ends
	topologies map[string][]byte           // the files of containers, by handle
	asked      map[string][]events.TopologyChange
	held       map[string]uint64 // in which operation containers held still, by handle
	volumes    map[string]*Volume
	mounted    map[string]mounted // by handle
	guarded    map[string]guarded // by handle
	watchers   map[*watcher]struct{}
	calls      map[events.InstanceID]int
}

type key struct {
	owner    node.Owner
	instance events.InstanceID
}

type watcher struct {
	owner node.Owner
	hints chan events.InstanceID
}

var _ node.Engine = (*Engine)(nil)

// New returns an engine without containers.
func New(capacity events.Capacity) *Engine {
	return &Engine{
		capacity: capacity, containers: map[key]*node.Container{}, refused: map[string]*node.Failure{}, tags: map[string]string{}, usage: map[events.InstanceID]node.Usage{},
		configs: map[key]map[string][]byte{}, printed: map[string][]events.LogLine{}, changed: make(chan struct{}), topologies: map[string][]byte{}, asked: map[string][]events.TopologyChange{}, held: map[string]uint64{},
		volumes: map[string]*Volume{}, mounted: map[string]mounted{}, guarded: map[string]guarded{},
		watchers: map[*watcher]struct{}{}, calls: map[events.InstanceID]int{},
	}
}

// Facts implements node.Engine.
func (e *Engine) Facts(context.Context) (node.Facts, error) {
	return node.Facts{Engine: events.EngineFacts{Engine: "simulated"}, Capacity: e.capacity}, nil
}

// Tidy implements node.Engine: no call leaves anything.
func (e *Engine) Tidy(context.Context, node.Owner) error { return nil }

// List implements node.Engine.
func (e *Engine) List(_ context.Context, owner node.Owner) ([]node.Container, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []node.Container
	for k, c := range e.containers {
		if k.owner == owner {
			all = append(all, *c)
		}
	}
	return all, nil
}

// Inspect implements node.Engine.
func (e *Engine) Inspect(_ context.Context, owner node.Owner, id events.InstanceID) (*node.Container, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.containers[key{owner, id}]
	if c == nil {
		return nil, nil
	}
	found := *c
	return &found, nil
}

// Prepare implements node.Engine.
func (e *Engine) Prepare(ctx context.Context, p node.Plan) (node.Container, error) {
	if failure := e.refuses(p.Order.Spec.Image); failure != nil {
		return node.Container{}, failure
	}
	if err := e.fill(ctx, p); err != nil {
		return node.Container{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	k := key{p.Owner, p.Instance}
	if c := e.containers[k]; c != nil {
		if c.Attempt == p.Attempt && c.Role == p.Role {
			return *c, nil
		}
		return node.Container{}, &node.Failure{Reason: events.OfflineCreateFailed, Message: "the name " + p.Name() + " is in use"}
	}
	e.made++
	e.calls[p.Instance]++
	c := &node.Container{
		Handle: strconv.Itoa(e.made), Instance: p.Instance, Role: p.Role, Attempt: p.Attempt, Revision: p.Order.Revision, Ports: p.Order.Ports,
		Images: e.resolve(p), BeforeStop: p.BeforeStop(),
	}
	e.containers[k], e.configs[k], e.topologies[c.Handle] = c, p.Configs, p.Topology
	e.mounted[c.Handle] = mountedBy(p)
	for _, name := range e.mounted[c.Handle] {
		if e.volumes[name] == nil {
			e.volumes[name] = &Volume{Labels: p.VolumeLabels()}
		}
	}
	made := *c
	made.Told = p.Order.Decided
	return made, nil
}

// refuses returns the failure of every Prepare of the image; nil for none.
func (e *Engine) refuses(image string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if failure := e.refused[image]; failure != nil {
		return failure
	}
	return nil
}

// resolve returns what the images of the plan stand for: as the plan says, or else by the tags here.
func (e *Engine) resolve(p node.Plan) map[string]string {
	images := map[string]string{}
	for _, name := range p.Order.Spec.Images() {
		if reference := cmp.Or(p.Images[name], e.tags[name]); reference != "" {
			images[name] = reference
		}
	}
	return images
}

// Tag has the name of an image stand for this reference from here on, as a tag that was moved in its registry.
func (e *Engine) Tag(image, reference string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tags[image] = reference
}

func (e *Engine) byHandle(handle string) (key, *node.Container) {
	for k, c := range e.containers {
		if c.Handle == handle {
			return k, c
		}
	}
	return key{}, nil
}

// Start implements node.Engine.
func (e *Engine) Start(_ context.Context, started node.Container) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	k, c := e.byHandle(started.Handle)
	if c == nil {
		return fmt.Errorf("start %s: no such container", started.Handle)
	}
	if c.State == node.Created {
		for _, name := range e.mounted[c.Handle] {
			e.volumes[name].Starts++
		}
	}
	c.State = node.Running
	if c.Role == node.RoleInit {
		e.exit(k, c, 0) // it costs nothing, too
	}
	return nil
}

// Stop implements node.Engine.
func (e *Engine) Stop(_ context.Context, stopped node.Container, _ time.Duration) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if k, c := e.byHandle(stopped.Handle); c != nil && c.State == node.Running {
		e.exit(k, c, 0)
	}
	return nil
}

// Remove implements node.Engine.
func (e *Engine) Remove(_ context.Context, removed node.Container) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if k, c := e.byHandle(removed.Handle); c != nil {
		e.wake()
		delete(e.containers, k)
		delete(e.configs, k)
		delete(e.usage, k.instance)
		delete(e.printed, removed.Handle)
		delete(e.topologies, removed.Handle)
		delete(e.asked, removed.Handle)
		delete(e.mounted, removed.Handle)
	}
	return nil
}

// Check implements node.Engine: what runs is healthy.
func (e *Engine) Check(_ context.Context, checked node.Container, _ events.Health, _ string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, c := e.byHandle(checked.Handle); c == nil || c.State != node.Running {
		return fmt.Errorf("check %s: it does not run", checked.Handle)
	}
	return nil
}

// Tell implements node.Engine.
func (e *Engine) Tell(_ context.Context, told node.Container, _ string, document []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, c := e.byHandle(told.Handle); c == nil {
		return fmt.Errorf("tell %s: no such container", told.Handle)
	}
	e.topologies[told.Handle] = document
	return nil
}

// Ask implements node.Engine: what runs does what it is asked.
func (e *Engine) Ask(_ context.Context, asked node.Container, _ events.Hook, what node.Asked, _ string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, c := e.byHandle(asked.Handle); c == nil || c.State != node.Running {
		return fmt.Errorf("ask %s: it does not run", asked.Handle)
	}
	switch what := what.(type) {
	case events.TopologyChange:
		e.asked[asked.Handle] = append(e.asked[asked.Handle], what)
	case events.Ask:
		e.held[asked.Handle] = max(e.held[asked.Handle], what.Operation) // a hook that was overtaken does nothing more
	}
	return nil
}

// Held returns the operation in which the container held still last; 0 for none.
func (e *Engine) Held(c node.Container) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[c.Handle]
}

// Topology returns what the file of the container's topology holds, and what that was asked, in order.
func (e *Engine) Topology(c node.Container) ([]byte, []events.TopologyChange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.topologies[c.Handle], slices.Clone(e.asked[c.Handle])
}

// Usage implements node.Engine: what Fill said.
func (e *Engine) Usage(_ context.Context, measured node.Container, _ string) (node.Usage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.usage[measured.Instance], nil
}

// Fill makes the instance use this much of the disk, until its container is removed. It reports false if no container runs.
func (e *Engine) Fill(id events.InstanceID, usage node.Usage) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, c := range e.containers {
		if k.instance == id && c.State == node.Running {
			e.usage[id] = usage
			return true
		}
	}
	return false
}

// Watch implements node.Engine.
func (e *Engine) Watch(ctx context.Context, owner node.Owner, ready func(), hint func(events.InstanceID)) error {
	const waiting = 1024
	w := &watcher{owner: owner, hints: make(chan events.InstanceID, waiting)}
	e.mu.Lock()
	e.watchers[w] = struct{}{}
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watchers, w)
	}()
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-w.hints:
			hint(id)
		}
	}
}

func (e *Engine) exit(k key, c *node.Container, code int32) {
	c.State, c.ExitCode = node.Exited, code
	e.wake()
	for w := range e.watchers {
		if w.owner != k.owner {
			continue
		}
		select {
		case w.hints <- k.instance:
		default:
		}
	}
}

// Refuse has every Prepare of the image fail with the failure; nil has it work again.
func (e *Engine) Refuse(image string, failure *node.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused[image] = failure
}

// Kill ends the process of the instance with the exit code, as a crash does. It reports false where none runs.
func (e *Engine) Kill(id events.InstanceID, code int32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, c := range e.containers {
		if k.instance == id && c.State == node.Running {
			e.exit(k, c, code)
			return true
		}
	}
	return false
}

// Containers returns every container, of all owners.
func (e *Engine) Containers() []node.Container {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]node.Container, 0, len(e.containers))
	for _, c := range e.containers {
		all = append(all, *c)
	}
	return all
}

// Configs returns the values of the configs that the instance's container was made with, by name; nil where there is none.
func (e *Engine) Configs(id events.InstanceID) map[string][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k, configs := range e.configs {
		if k.instance == id {
			return configs
		}
	}
	return nil
}

// Made counts how often a container was made for the instance.
func (e *Engine) Made(id events.InstanceID) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls[id]
}
