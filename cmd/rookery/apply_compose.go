package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rookery-project/rookery/cmd/rookery/compose"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// composed is the part of a plan that only Compose files have.
type composed struct {
	// Configs are the project's configs.
	Configs []*configStep `json:"configs,omitempty"`
	// LeftOut lists keys that Rookery does not support, and Otherwise keys that work differently than in Compose.
	LeftOut   []compose.Issue `json:"left_out,omitempty"`
	Otherwise []compose.Issue `json:"otherwise,omitempty"`

	grouped bool
	group   string
	after   map[string][]string
}

// configStep is a config of the project, which the bucket must hold before its services start.
type configStep struct {
	Key   string `json:"key"`
	Bytes int    `json:"bytes"`
	// Action is create, or unchanged if the bucket already holds the config.
	Action action `json:"action"`

	value []byte
}

// addCompose adds to the plan the configs, the order and the issues of Compose files.
func (p *plan) addCompose(ctx context.Context, b *bus.JetStream, w wish) error {
	p.grouped, p.group, p.after = w.grouped, cmp.Or(w.group, w.namespace), w.after
	if w.project == nil {
		return nil
	}
	p.LeftOut, p.Otherwise = w.project.Refused, w.project.Otherwise
	if len(w.project.Configs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	bucket, err := b.Bucket(ctx, bus.BucketConfigs)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(w.project.Configs)) {
		s := &configStep{Key: key, value: w.project.Configs[key], Bytes: len(w.project.Configs[key]), Action: actionCreate}
		switch there, err := bucket.Get(ctx, key); {
		case err == nil && bytes.Equal(there.Value, s.value):
			s.Action = actionUnchanged
		case err == nil:
			return fmt.Errorf("the bucket %s has other content under %s: remove it with \"nats kv del %s "+
				"%s\"", bus.BucketConfigs, key, bus.BucketConfigs, key)
		case !errors.Is(err, bus.ErrNoKey):
			return err
		}
		p.Configs = append(p.Configs, s)
	}
	return nil
}

// puts reports whether the plan writes a config.
func (c *composed) puts() bool {
	return slices.ContainsFunc(c.Configs, func(s *configStep) bool { return s.Action == actionCreate })
}

func (c *composed) printComposed(out io.Writer) {
	const below = 4
	for _, s := range c.Configs {
		if s.Action == actionCreate {
			folded(out, fmt.Sprintf("config %s: %d bytes, to write", s.Key, s.Bytes), below)
		}
	}
	for _, part := range []struct {
		head   string
		issues []compose.Issue
	}{{"Skipped, because Rookery does not support it:", c.LeftOut}, {"Different from Compose:", c.Otherwise}} {
		if len(part.issues) > 0 {
			fmt.Fprintln(out, part.head)
		}
		for _, i := range part.issues {
			folded(out, "  "+i.String(), below)
		}
	}
}

// putConfigs writes the configs before the services change, because a node reads them when it makes an instance.
func (c *composed) putConfigs(ctx context.Context, b *bus.JetStream, progress *progress) error {
	if !c.puts() {
		return nil
	}
	bucket, err := b.Bucket(ctx, bus.BucketConfigs)
	if err != nil {
		return err
	}
	for _, s := range c.Configs {
		if s.Action != actionCreate {
			continue
		}
		if _, err := bucket.Put(ctx, s.Key, s.value, 0); err != nil && !errors.Is(err, bus.ErrPosition) { // another client wrote this content
			return fmt.Errorf("config %s: %w", s.Key, err)
		}
		fmt.Fprintf(progress, "config %s is written\n", s.Key)
	}
	return nil
}

// ensure sends the commands that create and change services: all at once for lists, piece by piece for Compose files.
func (p *plan) ensure(ctx context.Context, b *bus.JetStream, progress *progress, steps []*step) error {
	if !p.grouped {
		return together(ctx, b, progress, steps)
	}
	if err := p.putConfigs(ctx, b, progress); err != nil {
		return err
	}
	pieces := p.pieces(steps)
	for i, piece := range pieces {
		var err error
		if isGroup(piece) {
			err = p.asGroup(ctx, b, progress, piece)
		} else {
			err = together(ctx, b, progress, piece)
		}
		if err != nil {
			for _, s := range slices.Concat(pieces[i+1:]...) {
				s.Note = "not sent: a service that it depends on did not succeed"
				folded(progress, s.Service.String()+": "+s.Note, 0)
			}
			return err
		}
	}
	return nil
}

func isJob(s *step) bool {
	c, ensures := s.ask.(events.ServiceEnsure)
	return ensures && c.IsJob()
}

// pieces divides the steps into groups and jobs, in the order in which to send them. The services of a group wait for each other.
// No group has jobs, because a job that has ended cannot be rolled back.
func (p *plan) pieces(steps []*step) [][]*step {
	var pieces [][]*step
	for left := slices.Clone(steps); len(left) > 0; {
		open := map[string]*step{}
		for _, s := range left {
			open[s.Service.Name] = s
		}
		ready := func(s *step) bool { // a job waits for all its dependencies, a service only for jobs
			return !slices.ContainsFunc(p.before(s.Service.Name), func(name string) bool {
				return open[name] != nil && (isJob(s) || isJob(open[name]))
			})
		}
		var group, jobs, later []*step
		for _, s := range left {
			switch {
			case !ready(s):
				later = append(later, s)
			case isJob(s):
				jobs = append(jobs, s)
			default:
				group = append(group, s)
			}
		}
		for _, piece := range [][]*step{jobs, group} {
			if len(piece) > 0 {
				pieces = append(pieces, piece)
			}
		}
		if left = later; len(jobs)+len(group) == 0 { // Compose refuses a cycle of dependencies
			return append(pieces, left)
		}
	}
	return pieces
}

// before returns all services that this one depends on, directly or through others.
func (p *plan) before(name string) []string {
	found, open := map[string]bool{}, slices.Clone(p.after[name])
	for len(open) > 0 {
		next := open[0]
		if open = open[1:]; !found[next] {
			found[next], open = true, append(open, p.after[next]...)
		}
	}
	return slices.Sorted(maps.Keys(found))
}
