package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

const (
	// peersTimeout bounds the question which servers hear each other.
	peersTimeout = time.Second
	// heardWithin is how long ago a server must have heard the others of a quorum that is well: they send something every second.
	heardWithin = 3 * time.Second
)

// silent reports whether an error may be that of servers without a quorum that do not know it yet.
func silent(err error) bool {
	return !errors.Is(err, bus.ErrNoQuorum) &&
		(errors.Is(err, bus.ErrUnknown) || errors.Is(err, bus.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded))
}

// silence returns why the bus may have acknowledged nothing for as long as waited, or nil where its servers hear each other.
func silence(ctx context.Context, b *bus.JetStream, waited time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), peersTimeout)
	defer cancel()
	peers, err := b.Peers(ctx, bus.Log)
	return silenceOf(peers, err, max(waited, time.Second).Round(time.Second))
}

// silenceOf is silence for the answer to the question which servers hear each other.
func silenceOf(peers bus.Peers, err error, waited time.Duration) error {
	switch {
	case errors.Is(err, bus.ErrNoQuorum):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no acknowledgement for %s, and no server leads the log: NATS elects a leader, or too few servers run", waited)
	case err != nil:
		return nil // its own words say enough
	}
	heard, well := make([]string, len(peers.Others)), 1
	for i, p := range peers.Others {
		heard[i] = fmt.Sprintf("%s %s ago", p.Name, p.Heard.Round(time.Second))
		if p.Heard < heardWithin {
			well++
		}
	}
	if 2*well > len(heard)+1 {
		return nil
	}
	return fmt.Errorf("no acknowledgement for %s; %s leads the log and last heard %s: too few servers run, or they do not reach each other",
		waited, peers.Leader, strings.Join(heard, ", "))
}

// explained adds to an error why the bus was silent since began, if it was.
func explained(ctx context.Context, b *bus.JetStream, err error, began time.Time) error {
	if !silent(err) {
		return err
	}
	if why := silence(ctx, b, time.Since(began)); why != nil {
		return fmt.Errorf("%w\n%w", err, why)
	}
	return err
}

// explained does the same for the error of a command, whose connection is closed.
func (l *link) explained(ctx context.Context, err error, began time.Time) error {
	if !silent(err) || ctx.Err() != nil {
		return err
	}
	b, done, failed := l.open("rookery")
	if failed != nil {
		return err // its own words say that there is no connection
	}
	defer done()
	return explained(ctx, b, err, began)
}
