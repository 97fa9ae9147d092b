package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// content returns the function that opens the object with a volume's content on the bus, for an instance.
func (a *Agent) content(id events.InstanceID) node.Content {
	return func(ctx context.Context, e events.Export) (io.ReadCloser, error) {
		content, err := a.Supply.Volume(ctx, id, e.Digest)
		if err != nil {
			return nil, contentError(e, err)
		}
		return &checked{content, sha256.New(), e}, nil
	}
}

func contentError(e events.Export, err error) error {
	if errors.Is(err, bus.ErrNoKey) {
		return fmt.Errorf("the bus does not have object %s in %s, or not all of it: put it there from a copy with \"nats object put %s FILE --name %s\"",
			e.Digest, bus.ObjectsVolumes, bus.ObjectsVolumes, e.Digest)
	}
	return fmt.Errorf("object %s cannot be read now: %w", e.Digest, err)
}

// checked is an object whose content must have the digest in its name. If it has another, reading ends with an error.
type checked struct {
	io.ReadCloser
	sum hash.Hash
	e   events.Export
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Write(p[:n])
	switch {
	case err == nil:
		return n, nil
	case !errors.Is(err, io.EOF):
		return n, contentError(c.e, err)
	}
	if digest := hex.EncodeToString(c.sum.Sum(nil)); digest != c.e.Digest {
		return n, fmt.Errorf("object %s of %s has another content, with the digest %s: put it there from a copy", c.e.Digest, bus.ObjectsVolumes, digest)
	}
	return n, err
}
