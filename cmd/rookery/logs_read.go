package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
	"github.com/rookery-project/rookery/projections/views"
)

const (
	// readAgain is how long logs waits before it reads an instance again whose container has ended or whose node does not answer.
	readAgain = time.Second
	// viewsFollow is how long the views usually take to show an event of the service; viewsSurely covers a busy cluster.
	viewsFollow = 300 * time.Millisecond
	viewsSurely = 3 * time.Second
	// viewsAnyway is how often logs reads the views without an event.
	viewsAnyway = 30 * time.Second
	// remembered is how long logs keeps its place in an instance that the views lack. A rebuild of the views leaves them empty for a
	// while.
	remembered = 10 * time.Minute
)

// reading reads the lines of a target's instances concurrently.
type reading struct {
	bus bus.Bus
	// instances returns the target's instances that have a node.
	instances func(context.Context) ([]views.Instance, error)
	target    target
	asked     events.LogsRequest
	merging   *merging
	running   sync.WaitGroup

	mu      sync.Mutex
	notes   io.Writer
	sources map[events.InstanceID]*source
	silent  map[string]bool // nodes that do not answer
	said    map[string]bool // notes already printed
	missing []string        // instances whose lines could not be read
}

// source is one instance, and the place up to which logs has read it.
type source struct {
	id    events.InstanceID
	node  string
	queue *queue
	// gone is when the instance left the service; zero while it belongs to it. With ended set no goroutine reads the source.
	gone  time.Time
	ended bool
	// container is the last container read, last the time of its last line, and count the number of lines with that time.
	container string
	last      time.Time
	count     int
}

func newReading(b bus.Bus, t target, instances func(context.Context) ([]views.Instance, error), asked events.LogsRequest, notes io.Writer) *reading {
	hold := time.Duration(0)
	if asked.Follow {
		hold = holdFollowed
	}
	return &reading{
		bus: b, target: t, instances: instances, asked: asked, merging: newMerging(settle, hold), notes: notes,
		sources: map[events.InstanceID]*source{}, silent: map[string]bool{}, said: map[string]bool{},
	}
}

// begin starts to read all current instances. With follow it also reads later ones, until the context ends.
func (r *reading) begin(ctx context.Context) error {
	if !r.asked.Follow {
		there, err := r.instances(ctx)
		if err != nil {
			return err
		}
		r.have(ctx, there, r.asked)
		r.merging.complete()
		if len(there) == 0 {
			r.note("%s has no instance on any node: see `rookery ps %s`", r.target, r.target.service)
		}
		return nil
	}
	heard, err := r.bus.Subscribe(events.EventRoot + ".service." + r.target.service.Namespace + "." + r.target.service.Name + ".>")
	if err != nil {
		return err
	}
	there, err := r.instances(ctx)
	if err != nil {
		heard.Stop()
		return err
	}
	r.have(ctx, there, r.asked)
	r.running.Go(func() {
		defer heard.Stop()
		r.watch(ctx, heard.Messages())
	})
	return nil
}

// watch reads the views again after each event of the service. It reads all lines of new instances.
func (r *reading) watch(ctx context.Context, heard <-chan events.Message) {
	soon, surely := time.NewTimer(viewsAnyway), time.NewTimer(viewsAnyway)
	defer soon.Stop()
	defer surely.Stop()
	for {
		select {
		case <-heard:
			soon.Reset(viewsFollow)
			surely.Reset(viewsSurely)
			continue
		case <-soon.C:
		case <-surely.C:
		case <-ctx.Done():
			return
		}
		surely.Reset(viewsAnyway)
		there, err := r.instances(ctx)
		if err != nil {
			continue // without the bus: open sessions continue
		}
		r.have(ctx, there, events.LogsRequest{Follow: true, Since: r.asked.Since})
	}
}

// have starts a reader for each instance without one. A reader continues where an earlier one ended. For every source, have records
// whether its instance still exists.
func (r *reading) have(ctx context.Context, there []views.Instance, asked events.LogsRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[events.InstanceID]bool{}
	for _, i := range there {
		id := idOf(i)
		ids[id] = true
		s := r.sources[id]
		if s == nil {
			s = &source{id: id, node: i.Node, ended: true}
			r.sources[id] = s
		}
		s.gone = time.Time{}
		if s.ended {
			s.ended, s.queue = false, r.merging.add()
			r.running.Go(func() {
				defer r.merging.end(s.queue)
				r.read(ctx, s, asked)
			})
		}
	}
	now := time.Now()
	for id, s := range r.sources {
		switch {
		case ids[id]:
		case s.gone.IsZero():
			s.gone = now
		case s.ended && now.Sub(s.gone) > remembered:
			delete(r.sources, id)
		}
	}
}

// read reads the source to its end, from its last place. With follow, the end is when the instance has left the service.
func (r *reading) read(ctx context.Context, s *source, asked events.LogsRequest) {
	for {
		if !s.last.IsZero() {
			asked.Tail, asked.Since = nil, latest(asked.Since, s.last)
		}
		err := r.readOnce(ctx, s, asked)
		r.explain(s, err, asked.Follow)
		if r.ends(ctx, s, asked.Follow && !errors.Is(err, bus.ErrForbidden)) {
			return
		}
		select {
		case <-time.After(readAgain):
		case <-ctx.Done():
		}
	}
}

// ends reports whether the source is at its end.
func (r *reading) ends(ctx context.Context, s *source, follow bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.ended = !follow || !s.gone.IsZero() || ctx.Err() != nil
	return s.ended
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// readOnce reads the source's container until it ends. It skips lines that were read before.
func (r *reading) readOnce(ctx context.Context, s *source, asked events.LogsRequest) error {
	body, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	c, err := session.Open(ctx, r.bus, events.SessionSubject(r.bus.User(), s.node, events.SessionLogs, s.id), body)
	if err != nil {
		return err
	}
	defer c.Close(nil, nil)
	skip := 0
	for {
		f, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		r.answers(s.node)
		if f.Kind == events.FrameContainer {
			if s.container == string(f.Body) {
				skip = s.count
			}
			s.container = string(f.Body)
			continue
		}
		lines, err := events.ParseLogLines(f.Body)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if skip > 0 && !l.Time.After(s.last) {
				skip--
				continue
			}
			skip = 0
			if err := r.merging.put(ctx, s.queue, lineOf{l, s.id.Ordinal, s.id.Generation, s.node}); err != nil {
				return err
			}
			if !l.Time.Equal(s.last) {
				s.last, s.count = l.Time, 0
			}
			s.count++
		}
	}
}

// explain notes on standard error why lines of a source are late or missing.
func (r *reading) explain(s *source, err error, follow bool) {
	var said *bus.QuestionError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, context.Canceled):
		return
	case errors.As(err, &said) && said.Code == http.StatusNotFound && follow:
		return // the container does not exist yet, or is terminating
	case errors.As(err, &said) && said.Code == http.StatusTooManyRequests && follow:
		r.once("node %s serves its maximum of readers: the lines of some instances there come once other readers end", s.node)
		return
	case errors.As(err, &said) && said.Code == http.StatusTooManyRequests:
		r.once("node %s serves its maximum of readers: the lines of some instances there are missing", s.node)
		r.miss(s)
		return
	case errors.As(err, &said) && said.Code != http.StatusServiceUnavailable:
		r.once("%s on %s: %s", s.id, s.node, said.Reason)
		if said.Code != http.StatusNotFound && !follow {
			r.miss(s)
		}
		return
	case errors.Is(err, bus.ErrForbidden):
		r.once("the logs of %s: %v", s.id.Service, bus.ErrForbidden)
		r.miss(s)
		return
	case said != nil || errors.Is(err, bus.ErrNoAnswer) || errors.Is(err, session.ErrSilent):
	case follow:
		return // the next reader continues from the same place
	default:
		r.note("%s on %s: %v", s.id, s.node, err)
		r.miss(s)
		return
	}
	r.mu.Lock()
	known := r.silent[s.node]
	r.silent[s.node] = true
	r.mu.Unlock()
	if !known && follow {
		r.note("node %s does not answer: its lines come once it does", s.node)
	}
	if !follow {
		r.note("node %s does not answer: the lines of %s are missing", s.node, s.id)
		r.miss(s)
	}
}

// answers notes that a silent node answers again.
func (r *reading) answers(node string) {
	r.mu.Lock()
	known := r.silent[node]
	delete(r.silent, node)
	r.mu.Unlock()
	if known {
		r.note("node %s answers again", node)
	}
}

func (r *reading) note(format string, values ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.notes, "rookery: "+format+"\n", values...)
}

// once prints a note unless it was printed before, because each retry would print the same note.
func (r *reading) once(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	r.mu.Lock()
	const most = 1000
	if len(r.said) >= most {
		clear(r.said)
	}
	known := r.said[text]
	r.said[text] = true
	r.mu.Unlock()
	if !known {
		r.note("%s", text)
	}
}

func (r *reading) miss(s *source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.missing = append(r.missing, s.id.String())
}

// missed returns an error if some lines could not be read.
func (r *reading) missed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.missing) == 0 {
		return nil
	}
	slices.Sort(r.missing)
	return fmt.Errorf("the lines of %s are missing", strings.Join(r.missing, ", "))
}
