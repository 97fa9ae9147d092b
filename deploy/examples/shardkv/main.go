// Command shardkv is the stateful example: a key-value service in memory that divides its keys among its instances, and moves them when its
// scale changes. A change of the scale loses no acknowledged write, and two slots never serve the same key.
//
// The environment configures it: TOPOLOGY is the path of the topology file (/run/rookery/topology.json), LISTEN the address to answer on
// (:8080). README.md describes the protocol.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	// topologyWithin is how long an instance waits at its start for the topology file.
	topologyWithin = 30 * time.Second
	followEvery    = time.Second
	// stopWithin is how long requests under way have when the instance is asked to stop.
	stopWithin = 5 * time.Second
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("shardkv ends", "error", err)
		os.Exit(1)
	}
}

// run serves until it is asked to stop.
func run(log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	i, err := await(ctx, cmp.Or(os.Getenv("TOPOLOGY"), "/run/rookery/topology.json"), log)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(os.Getenv("LISTEN"), ":8080"))
	if err != nil {
		return err
	}
	return i.serve(ctx, listener, followEvery)
}

// await returns an instance as soon as there is a topology for it.
func await(ctx context.Context, path string, log *slog.Logger) (*instance, error) {
	ctx, cancel := context.WithTimeout(ctx, topologyWithin)
	defer cancel()
	for {
		i, err := newInstance(path, log)
		if err == nil {
			return i, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the topology: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serve answers on the listener, which it closes, and follows the topology, until the context ends.
func (i *instance) serve(ctx context.Context, listener net.Listener, every time.Duration) error {
	server := &http.Server{
		Handler: i.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: acquireWithin + 10*time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var following sync.WaitGroup
	following.Go(func() { i.follow(ctx, every) })
	stopped := make(chan error, 1)
	following.Go(func() {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
		defer cancel()
		stopped <- server.Shutdown(grace)
	})
	err := server.Serve(listener)
	cancel()
	following.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-stopped)
}
