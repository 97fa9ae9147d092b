package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// acquireWithin bounds the whole of an acquire, dialWithin and answerWithin how long one peer may keep it waiting. One that
	// is not reached is asked again every askAgain, for reachWithin.
	acquireWithin = time.Minute
	reachWithin   = 20 * time.Second
	askAgain      = 250 * time.Millisecond
	dialWithin    = 2 * time.Second
	answerWithin  = 10 * time.Second
)

// instance is one slot's process: its keys, and what it knows of the others.
type instance struct {
	path  string // of the topology file
	log   *slog.Logger
	keys  *store
	peers http.Client
	// patience is how long it asks again for what it does not reach.
	patience time.Duration
	known    atomic.Pointer[topology] // for addresses alone: what is served is for the store to say
}

// newInstance returns an instance that begins with what its topology file says.
func newInstance(path string, log *slog.Logger) (*instance, error) {
	t, err := readTopology(path)
	if err != nil {
		return nil, err
	}
	i := &instance{path: path, log: log, keys: newStore(t), patience: reachWithin}
	i.peers.Transport = &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialWithin}).DialContext,
		ResponseHeaderTimeout: answerWithin,
		DisableKeepAlives:     true, // there are minutes or days between two changes
	}
	i.known.Store(&t)
	return i, nil
}

// look reads the topology file again.
func (i *instance) look() (topology, error) {
	t, err := readTopology(i.path)
	if err != nil {
		return topology{}, err
	}
	if t.Ordinal != i.keys.ordinal {
		return topology{}, fmt.Errorf("%s: ordinal: %d is another slot than %d", i.path, t.Ordinal, i.keys.ordinal)
	}
	i.known.Store(&t)
	return t, nil
}

// follow reads the file at this interval, until the context ends: peers move to other hosts without a change. An instance that restarted in
// the middle of a change, and so missed its end, acquires its keys here.
func (i *instance) follow(ctx context.Context, every time.Duration) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		t, err := i.look()
		if err == nil && t.Change == nil {
			err = i.acquire(ctx, t)
		}
		if err != nil && ctx.Err() == nil {
			i.log.Warn("following the topology", "error", err)
		}
	}
}

// release stops serving what the topology's target takes from this slot.
func (i *instance) release(t topology) error {
	return i.keys.release(t.target(), t.shape)
}

// acquire takes the keys from all peers that the target of the topology gives to this slot, and serves them. An instance that started after
// the phase release, and so has not released, releases here.
func (i *instance) acquire(ctx context.Context, t topology) error {
	to := t.target()
	if acquired, _ := i.keys.shapes(); acquired == to {
		return nil
	}
	if err := i.release(t); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, acquireWithin)
	defer cancel()
	incoming, err := i.collect(ctx, t)
	if err != nil {
		return err
	}
	if err := i.keys.acquire(to, incoming); err != nil {
		return err
	}
	i.log.Info("acquired", "config_version", to.ConfigVersion, "scale", to.Scale, "keys", len(incoming))
	return nil
}
