package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rookery-project/rookery/coordinator/runner/api"
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

// presentServices are a namespace's services, by name.
type presentServices struct {
	views map[string]views.Service
	// sequence is the place in the log that all of them have reached at least.
	sequence uint64
}

// readPresent reads the services of the namespace; none for no namespace, where files have only a policy.
func readPresent(ctx context.Context, b *bus.JetStream, namespace string) (presentServices, error) {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	all, at, stale, err := listed[views.Service](ctx, b, bus.BucketServices, api.ListQuestion{Namespace: namespace})
	warn(stale)
	p := presentServices{map[string]views.Service{}, at}
	for _, v := range all {
		if v.Namespace == namespace {
			p.views[v.Name] = v
		}
	}
	return p, err
}

// stillTrue returns an error if another client has changed what services of the namespace must be.
func (p *presentServices) stillTrue(ctx context.Context, b *bus.JetStream, namespace string) error {
	now, err := readPresent(ctx, b, namespace)
	if err != nil {
		return err
	}
	changed := p.otherThan(now)
	changed = append(changed, now.otherThan(*p)...)
	slices.Sort(changed)
	if changed = slices.Compact(changed); len(changed) > 0 {
		return fmt.Errorf("nothing was done: another client has changed %s since the plan was made: run apply again", strings.Join(changed, ", "))
	}
	return nil
}

// otherThan returns the services that are not there later, or with another revision or scale.
func (p *presentServices) otherThan(later presentServices) (all []string) {
	for name, v := range p.views {
		if then, there := later.views[name]; !there || then.Revision != v.Revision || then.Scale != v.Scale {
			all = append(all, v.Namespace+"/"+name)
		}
	}
	return all
}
