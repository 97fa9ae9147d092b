package world

import (
	"context"
	"io"
	"time"

	"github.com/rookery-project/rookery/events/bus"
)

// objects is a bus.Objects over a client's link.
type objects struct {
	client *client
	name   string
	bus.Objects
}

// Objects implements bus.Bus.
func (c *client) Objects(name string) bus.Objects {
	return objects{c, name, c.world.server.Objects(name)}
}

// Put implements bus.Objects.
func (o objects) Put(ctx context.Context, name string, content io.Reader) error {
	_, err := do(ctx, o.client.call(WriteBucket, "object "+name).of(objectStores), func() (struct{}, error) {
		return struct{}{}, o.Objects.Put(context.Background(), name, content)
	})
	return err
}

// Stat implements bus.Objects.
func (o objects) Stat(ctx context.Context, name string) (bus.Object, error) {
	return do(ctx, o.client.look(ReadBucket, "object "+name).of(objectStores), func() (bus.Object, error) {
		return o.Objects.Stat(context.Background(), name)
	})
}

// Get implements bus.Objects.
func (o objects) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return do(ctx, o.client.look(ReadBucket, "object "+name).of(objectStores), func() (io.ReadCloser, error) {
		return o.Objects.Get(context.Background(), name)
	})
}

// All implements bus.Objects.
func (o objects) All(ctx context.Context) ([]bus.Object, error) {
	return do(ctx, o.client.look(ReadBucket, "objects of "+o.name).of(objectStores), func() ([]bus.Object, error) {
		return o.Objects.All(context.Background())
	})
}

// Touch implements bus.Objects.
func (o objects) Touch(ctx context.Context, name string) error {
	_, err := do(ctx, o.client.call(WriteBucket, "object "+name).of(objectStores), func() (struct{}, error) {
		return struct{}{}, o.Objects.Touch(context.Background(), name)
	})
	return err
}

// Tidy implements bus.Objects.
func (o objects) Tidy(ctx context.Context, before time.Time) error {
	_, err := do(ctx, o.client.call(WriteBucket, "parts of objects").of(objectStores), func() (struct{}, error) {
		return struct{}{}, o.Objects.Tidy(context.Background(), before)
	})
	return err
}

// Delete implements bus.Objects.
func (o objects) Delete(ctx context.Context, name string) error {
	_, err := do(ctx, o.client.call(WriteBucket, "object "+name).of(objectStores), func() (struct{}, error) {
		return struct{}{}, o.Objects.Delete(context.Background(), name)
	})
	return err
}
