package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/supply"
	"github.com/rookery-project/rookery/node"
)

const (
	// exportTries is how often the node reads a volume that changes during an export. exportAgain is how long it waits after the engine
	// or the bus failed.
	exportTries = 3
	exportAgain = time.Second
)

// errChanged occurs when a volume has changed since the node computed its digest.
var errChanged = errors.New("it changed during the snapshot: let hooks.snapshot make the service pause its writes")

// export stores the content of the volumes on the bus, each under its digest. It does not send content that the bus already has.
func (a *Agent) export(ctx context.Context, c node.Container, volumes []events.Volume) ([]events.Export, error) {
	exports := make([]events.Export, 0, len(volumes))
	for _, v := range volumes {
		e, err := a.keepVolume(ctx, c, v)
		if err != nil {
			return nil, fmt.Errorf("volume %s: %w", v.Name, err)
		}
		exports = append(exports, e)
	}
	return exports, nil
}

// keepVolume retries as long as ctx leaves time for another try. It does not retry if the bus is full, or if the volume has changed in
// every one of exportTries tries.
func (a *Agent) keepVolume(ctx context.Context, c node.Container, v events.Volume) (events.Export, error) {
	said := ""
	for changed := 0; ; {
		e, err := a.exportVolume(ctx, c, v)
		if err != nil && err.Error() != said {
			said = err.Error()
			a.Log.Warn("cannot export a volume", "instance", c.Instance.String(), "volume", v.Name, "error", err)
		}
		switch {
		case err == nil, errors.Is(err, bus.ErrFull):
			return e, err
		case errors.Is(err, errChanged):
			if changed++; changed == exportTries {
				return e, err
			}
			continue
		}
		if until, ends := ctx.Deadline(); ends && time.Until(until) < exportAgain {
			return e, err
		}
		select {
		case <-time.After(exportAgain):
		case <-ctx.Done():
			return e, err
		}
	}
}

// exportVolume reads the volume twice: first for the digest, which is the object's name, and then to store the object.
func (a *Agent) exportVolume(ctx context.Context, c node.Container, v events.Volume) (events.Export, error) {
	e := events.Export{Volume: v.Name}
	sum := sha256.New()
	err := a.archive(ctx, c, v.Path, func(content io.Reader) (err error) {
		e.Size, err = io.Copy(sum, content)
		return err
	})
	if err != nil {
		return e, err
	}
	e.Digest = hex.EncodeToString(sum.Sum(nil))
	known, err := a.Supply.HasVolume(ctx, c.Instance, e.Digest)
	if known || err != nil {
		return e, err
	}
	err = a.archive(ctx, c, v.Path, func(content io.Reader) error {
		return a.Supply.StoreVolume(ctx, c.Instance, e.Digest, content)
	})
	if errors.Is(err, supply.ErrDigest) {
		err = errChanged
	}
	return e, err
}

// archive reads the content of the folder in the container.
func (a *Agent) archive(ctx context.Context, c node.Container, path string, read func(io.Reader) error) error {
	content, err := a.Engine.Export(ctx, c, path)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // the reader has reached its end or has failed
	return read(content)
}
