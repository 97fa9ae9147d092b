package main

import (
	"bytes"
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

// composed is the part of a plan that Compose files have.
type composed struct {
	// Configs are those of the project.
	Configs []*configStep `json:"configs,omitempty"`
	// LeftOut is what the files ask for and Rookery does not do, and Otherwise what it does but not as Compose.
	LeftOut   []compose.Issue `json:"left_out,omitempty"`
	Otherwise []compose.Issue `json:"otherwise,omitempty"`

	grouped bool
	after   map[string][]string
}

// configStep is a config that a bucket is to have.
type configStep struct {
	Key   string `json:"key"`
	Bytes int    `json:"bytes"`
	// Action is create, or unchanged where it is there.
	Action action `json:"action"`

	value []byte
}

// addCompose adds to the plan what Compose files say beside their services.
func (p *plan) addCompose(ctx context.Context, b *bus.JetStream, w wish) error {
	p.grouped, p.after = w.grouped, w.after
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
			return fmt.Errorf("the bucket %s has %s with something else in it: remove it with \"nats kv del %s %s\"", bus.BucketConfigs, key, bus.BucketConfigs, key)
		case !errors.Is(err, bus.ErrNoKey):
			return err
		}
		p.Configs = append(p.Configs, s)
	}
	return nil
}

// puts reports whether a config is to be put.
func (c *composed) puts() bool {
	return slices.ContainsFunc(c.Configs, func(s *configStep) bool { return s.Action == actionCreate })
}

func (c *composed) printComposed(out io.Writer) {
	const below = 4
	for _, s := range c.Configs {
		if s.Action == actionCreate {
			folded(out, fmt.Sprintf("config %s: %d bytes, to put", s.Key, s.Bytes), below)
		}
	}
	for _, part := range []struct {
		head   string
		issues []compose.Issue
	}{{"Left out, for Rookery does not do it:", c.LeftOut}, {"Otherwise than Compose:", c.Otherwise}} {
		if len(part.issues) > 0 {
			fmt.Fprintln(out, part.head)
		}
		for _, i := range part.issues {
			folded(out, "  "+i.String(), below)
		}
	}
}

// putConfigs puts what instances read as they are made.
func (c *composed) putConfigs(ctx context.Context, b *bus.JetStream, progress io.Writer) error {
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
		if _, err := bucket.Put(ctx, s.Key, s.value, 0); err != nil && !errors.Is(err, bus.ErrPosition) { // somebody puts the same
			return fmt.Errorf("config %s: %w", s.Key, err)
		}
		fmt.Fprintf(progress, "config %s is put\n", s.Key)
	}
	return nil
}

// ensure has what is to be created and changed be so: those of lists all together, those of Compose files piece by piece.
func (p *plan) ensure(ctx context.Context, b *bus.JetStream, progress io.Writer, steps []*step) error {
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
				s.Note = "not asked for: not all that it comes after succeeded"
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

// pieces divides the steps into those that can go out at once, in turn: groups, in which services wait for each other, and jobs,
// which no group has, as one that ends has nothing to go back to.
func (p *plan) pieces(steps []*step) [][]*step {
	var pieces [][]*step
	for left := slices.Clone(steps); len(left) > 0; {
		open := map[string]*step{}
		for _, s := range left {
			open[s.Service.Name] = s
		}
		ready := func(s *step) bool { // a job waits for all that it comes after, and a service for jobs
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
		if left = later; len(jobs)+len(group) == 0 { // Compose lets no service come after itself
			return append(pieces, left)
		}
	}
	return pieces
}

// before returns all services that one comes after, at any remove.
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
