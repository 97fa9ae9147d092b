package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// object is what is kept, and its content.
type object struct {
	bus.Object
	content []byte
}

type objects struct {
	now  func() time.Time
	name string

	mu  sync.Mutex
	all map[string]object
}

// Objects implements bus.Bus.
func (b *Bus) Objects(name string) bus.Objects {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.objects[name]
	if o == nil {
		o = &objects{now: b.now, name: name, all: map[string]object{}}
		b.objects[name] = o
	}
	return o
}

// Put implements bus.Objects.
func (o *objects) Put(ctx context.Context, name string, content io.Reader) error {
	body, err := io.ReadAll(content)
	err = errors.Join(err, ctx.Err())
	if err != nil {
		return fmt.Errorf("put object %s into %s: %w", name, o.name, err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all[name] = object{bus.Object{Name: name, Size: int64(len(body)), Stored: o.now()}, body}
	return nil
}

// Stat implements bus.Objects.
func (o *objects) Stat(_ context.Context, name string) (bus.Object, error) {
	found, err := o.find(name)
	return found.Object, err
}

// Get implements bus.Objects.
func (o *objects) Get(_ context.Context, name string) (io.ReadCloser, error) {
	found, err := o.find(name)
	return io.NopCloser(bytes.NewReader(found.content)), err
}

func (o *objects) find(name string) (object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.all[name]
	if !ok {
		return found, fmt.Errorf("look at object %s of %s: %w", name, o.name, bus.ErrNoKey)
	}
	return found, nil
}

// All implements bus.Objects.
func (o *objects) All(context.Context) ([]bus.Object, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make([]bus.Object, 0, len(o.all))
	for _, found := range o.all {
		all = append(all, found.Object)
	}
	return all, nil
}

// Delete implements bus.Objects.
func (o *objects) Delete(_ context.Context, name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, name)
	return nil
}

// Tidy implements bus.Objects: an object is stored here as a whole.
func (o *objects) Tidy(context.Context, time.Time) error { return nil }

// Touch implements bus.Objects.
func (o *objects) Touch(_ context.Context, name string) error {
	found, err := o.find(name)
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found.Stored = o.now()
	o.all[name] = found
	return nil
}
