package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections/views"
)

// inFile puts the file's name before each of several joined errors.
func inFile(file string, err error) []error {
	each := []error{err}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		each = slices.Clone(joined.Unwrap())
	}
	for i := range each {
		each[i] = fmt.Errorf("read %s: %w", file, each[i])
	}
	return each
}

// presentServices are a namespace's services in the views, by name.
type presentServices struct {
	views map[string]views.Service
	// sequence is the place in the log that the views have reached.
	sequence uint64
}

const (
	// viewsTimeout bounds how long apply waits for views that are behind the log. A leader rebuilds lost views within seconds.
	// viewsEvery is how often apply reads them meanwhile.
	viewsTimeout = 15 * time.Second
	viewsEvery   = 50 * time.Millisecond
)

// readPresent reads the services of the namespace, if there is one, once the views have caught up with the log.
func readPresent(ctx context.Context, b *bus.JetStream, namespace string) (presentServices, error) {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	state, err := logState(ctx, b)
	if err != nil {
		return presentServices{}, err
	}
	p := presentServices{sequence: state.Last}
	if namespace == "" { // the files have only a policy
		return p, nil
	}
	changes, err := b.Latest(ctx, bus.Log, desired(namespace)+"*.*")
	if err != nil {
		return p, err
	}
	ticker := time.NewTicker(viewsEvery)
	defer ticker.Stop()
	for began := time.Now(); ; {
		if err := p.read(ctx, b, namespace); err != nil {
			return p, err
		}
		behind := p.unseen(changes)
		if len(behind) == 0 {
			return p, nil
		}
		if time.Since(began) > viewsTimeout {
			return p, fmt.Errorf("the views are behind the log for %s: see `rookery doctor`", strings.Join(behind, ", "))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return p, ctx.Err()
		}
	}
}

func (p *presentServices) read(ctx context.Context, b *bus.JetStream, namespace string) error {
	all, err := readBucket[views.Service](ctx, b, bus.BucketServices)
	if err != nil {
		return err
	}
	p.views = map[string]views.Service{}
	for _, v := range all {
		if v.Namespace == namespace {
			p.views[v.Name] = v
		}
	}
	return nil
}

// stillTrue returns an error if the log has a change to a service of the namespace that the views did not show yet.
func (p *presentServices) stillTrue(ctx context.Context, b *bus.JetStream, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	var changes []events.Message
	if err := eachOfLog(ctx, b, p.sequence+1, func(m events.Message) (bool, error) {
		if below, ok := strings.CutPrefix(m.Subject, desired(namespace)); ok && strings.Count(below, ".") == 1 {
			changes = append(changes, m)
		}
		return true, nil
	}); err != nil {
		return err
	}
	if changed := p.unseen(changes); len(changed) > 0 {
		return fmt.Errorf("nothing was done: another client has changed %s since the plan was made: run apply again", strings.Join(changed, ", "))
	}
	return nil
}

// desired returns the start of the subjects of events that change the specs of a namespace's services. <name>.revised, scaled,
// dropped or removed follows; no other subject has two tokens there.
func desired(namespace string) string { return events.LogRoot + ".service." + namespace + "." }

// unseen returns the services whose views are behind these changes, which are in order of sequence. The last change of a service
// counts.
func (p *presentServices) unseen(changes []events.Message) []string {
	changed := map[string]bool{}
	for _, m := range changes {
		scope := strings.Split(m.Subject, ".")
		id := events.ServiceID{Namespace: scope[3], Name: scope[4]}
		view, shown := p.views[id.Name]
		gone := m.Subject == events.ServiceScope(id).LogSubject(events.ServiceRemoved{}.Kind())
		changed[id.String()] = m.Sequence > view.Sequence && (shown || !gone)
	}
	maps.DeleteFunc(changed, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(changed))
}
