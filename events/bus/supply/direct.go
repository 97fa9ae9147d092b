package supply

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// storedLately is how old a content may be to stay as it is: the leader sweeps no such object before the snapshot that names it is committed.
const storedLately = bus.SweptAfter / 2

// direct is a Supply by the interfaces of the bus.
type direct struct {
	bus  bus.Bus
	node string
}

// Direct returns the node's supply by the interfaces of an open bus.
func Direct(b bus.Bus, node string) Supply { return direct{b, node} }

// Orders implements Supply.
func (d direct) Orders(ctx context.Context) ([]events.Message, error) {
	return d.bus.Latest(ctx, bus.Orders, events.NodeOrders(events.OrdersRoot, d.node))
}

// Config implements Supply.
func (d direct) Config(ctx context.Context, id events.InstanceID, name string) ([]byte, error) {
	configs, err := d.bus.Bucket(ctx, bus.BucketConfigs)
	if err != nil {
		return nil, err
	}
	e, err := configs.Get(ctx, events.ConfigKey(id.Service.Namespace, name))
	return e.Value, err
}

// KeepOutput implements Supply.
func (d direct) KeepOutput(ctx context.Context, id events.InstanceID, attempt uint32, lines []byte) error {
	outputs, err := d.bus.Bucket(ctx, bus.BucketOutput)
	if err != nil {
		return err
	}
	return outputs.Set(ctx, events.OutputKey(id, attempt), lines)
}

// HasVolume implements Supply.
func (d direct) HasVolume(ctx context.Context, _ events.InstanceID, digest string) (bool, error) {
	objects := d.bus.Objects(bus.ObjectsVolumes)
	known, err := objects.Stat(ctx, digest)
	switch {
	case errors.Is(err, bus.ErrNoKey):
		return false, nil
	case err != nil:
		return false, err
	case time.Since(known.Stored) < storedLately:
		return true, nil
	}
	return true, objects.Touch(ctx, digest) // an earlier snapshot has it: storing it again would put that one at risk
}

// StoreVolume implements Supply.
func (d direct) StoreVolume(ctx context.Context, _ events.InstanceID, digest string, content io.Reader) error {
	return d.bus.Objects(bus.ObjectsVolumes).Put(ctx, digest, &verified{content, sha256.New(), digest})
}

// Volume implements Supply.
func (d direct) Volume(ctx context.Context, _ events.InstanceID, digest string) (io.ReadCloser, error) {
	objects := d.bus.Objects(bus.ObjectsVolumes)
	if _, err := objects.Stat(ctx, digest); err != nil { // reading what is there in part would wait for the rest
		return nil, err
	}
	return objects.Get(ctx, digest)
}

// verified reads content that must have the digest. If the digest differs, reading ends with ErrDigest, so that the bus stores no object under a
// wrong name.
type verified struct {
	content io.Reader
	sum     hash.Hash
	digest  string
}

// Read implements io.Reader.
func (v *verified) Read(p []byte) (int, error) {
	n, err := v.content.Read(p)
	v.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(v.sum.Sum(nil)) != v.digest {
		return n, ErrDigest
	}
	return n, err
}
