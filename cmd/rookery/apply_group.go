package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// isGroup reports whether a piece goes out as one group command. A single service and jobs have commands of their own.
func isGroup(piece []*step) bool { return len(piece) > 1 && !isJob(piece[0]) }

// checkGroups returns an error if a piece does not fit into one group command.
func (p *plan) checkGroups() error {
	if !p.grouped {
		return nil
	}
	for _, piece := range p.pieces(p.ensures()) {
		if !isGroup(piece) {
			continue
		}
		if len(piece) > events.MaxMembers {
			return fmt.Errorf("nothing was done: %d services of %s change together, and one command takes %d: move some of them to another file, "+
				"and apply that file first: rookery apply %s -f FILE", len(piece), p.Namespace, events.MaxMembers, p.Namespace)
		}
		c, err := p.groupCommand(piece)
		if err == nil {
			_, err = commandMessage(p.groupScope(), c)
		}
		if err != nil {
			return fmt.Errorf("nothing was done: %d services of %s change together: %w", len(piece), p.Namespace, err)
		}
	}
	return nil
}

func (p *plan) groupScope() string { return "group." + p.Namespace + "." + p.group }

// groupCommand returns the command that changes all services of a piece.
func (p *plan) groupCommand(piece []*step) (events.GroupEnsure, error) {
	command := events.GroupEnsure{Services: map[string]events.GroupMember{}}
	for i, s := range piece {
		c, _ := s.ask.(events.ServiceEnsure)
		when := c.Guard
		when.Busy = cmp.Or(when.Busy, events.BusyReject)
		switch {
		case when.Busy == events.BusyQueue:
			return command, fmt.Errorf("%s has busy: queue, but a group cannot queue: write reject or supersede", s.Service.Name)
		case i == 0:
			command.Guard = when
		case command.Guard != when:
			return command, fmt.Errorf("%s has %s, and %s has %s: write the same for all", piece[0].Service.Name, guardWords(command.Guard), s.Service.Name, guardWords(when))
		}
		command.Services[s.Service.Name] = events.GroupMember{Spec: c.Spec, Scale: c.Scale}
	}
	for name, m := range command.Services {
		for _, other := range p.before(name) {
			if _, there := command.Services[other]; there {
				m.After = append(m.After, other)
			}
		}
		command.Services[name] = m
	}
	return command, nil
}

func guardWords(g events.Guard) string {
	return fmt.Sprintf("busy: %s and if_seq: %d", g.Busy, g.IfSeq)
}

// asGroup changes the services of a piece with one command: all of them, or none.
func (p *plan) asGroup(ctx context.Context, b *bus.JetStream, progress *progress, piece []*step) error {
	command, err := p.groupCommand(piece)
	if err != nil {
		return err
	}
	w := &waiter{bus: b, progress: progress, scope: p.groupScope(), waves: waves{}}
	for _, s := range piece {
		w.members = append(w.members, s.Service)
	}
	m, err := commandMessage(w.scope, command)
	if err != nil {
		return err
	}
	outcome, err := w.run(ctx, m)
	for _, s := range piece {
		if s.Command = w.sequence; err == nil {
			s.Outcome = &outcome
		}
	}
	group := p.Namespace + "/" + p.group
	switch {
	case errors.Is(err, context.Canceled) && w.sequence > 0:
		return &codedError{exitSignal, fmt.Errorf("interrupted: the group %s continues, as command %d: see `rookery ps`", group, w.sequence)}
	case err != nil:
		return err
	}
	if err := failureOf(outcome); err != nil {
		return err
	}
	w.succeeded(ctx, "group "+group)
	return nil
}
