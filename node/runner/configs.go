package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// turns makes callers take turns in the order in which they asked. The result depends only on that order, not on which goroutine runs
// first, so that a simulated run can be repeated.
type turns struct {
	last <-chan struct{} // closed once the last turn is over; nil before the first turn
}

// take returns a channel that is closed when the caller's turn comes, nil if it is now, and a function that ends the turn.
func (t *turns) take() (comes <-chan struct{}, done func()) {
	before, ended := t.last, make(chan struct{})
	t.last = ended
	return before, func() { close(ended) }
}

// configReader reads the configs of an instance by name.
type configReader func(context.Context) (map[string][]byte, error)

// configs returns a function that reads the current configs of the instance's containers, by name. The node reads them for one instance
// at a time. Errors are *node.Failure.
func (a *Agent) configs(v node.View) configReader {
	if v.Order.Spec == nil || len(v.Order.Spec.Configs) == 0 {
		return func(context.Context) (map[string][]byte, error) { return nil, nil }
	}
	comes, done := a.configReads.take()
	return func(ctx context.Context) (map[string][]byte, error) {
		defer done()
		if comes != nil {
			select {
			case <-comes:
			case <-ctx.Done():
				return nil, &node.Failure{Reason: events.OfflineConfigUnread, Message: "reading the configs of other instances takes too long"}
			}
		}
		return a.readConfigs(ctx, v)
	}
}

func (a *Agent) readConfigs(ctx context.Context, v node.View) (map[string][]byte, error) {
	values := map[string][]byte{}
	for _, c := range v.Order.Spec.Configs {
		if values[c.Name] != nil {
			continue // the config has two paths
		}
		value, err := a.config(ctx, v.Instance, c.Name)
		if err != nil {
			return nil, err
		}
		values[c.Name] = value
	}
	return values, nil
}

// config reads one config. Each has a timeout of its own, so that the node can read many of them over a slow link.
func (a *Agent) config(ctx context.Context, id events.InstanceID, name string) ([]byte, error) {
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	value, err := a.Supply.Config(call, id, name)
	key := events.ConfigKey(id.Service.Namespace, name)
	put := fmt.Sprintf("put it there with \"nats kv put %s %s < FILE\"", bus.BucketConfigs, key)
	switch {
	case errors.Is(err, bus.ErrNoKey):
		return nil, &node.Failure{Reason: events.OfflineConfigMissing, Message: "the bus has no config " + key + ": " + put}
	case err != nil:
		return nil, &node.Failure{Reason: events.OfflineConfigUnread, Message: "config " + key + " cannot be read now: " + err.Error()}
	case len(value) == 0:
		return nil, &node.Failure{Reason: events.OfflineConfigSize, Message: "config " + key + " is empty: " + put}
	case len(value) > bus.MaxConfig:
		return nil, &node.Failure{Reason: events.OfflineConfigSize, Message: fmt.Sprintf("config %s has %d bytes, more than %d: "+
			"let the service fetch larger data itself", key, len(value), bus.MaxConfig)}
	}
	return value, nil
}
