package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

const (
	// exportTries is how often the node reads a volume that changes during an export. exportAgain is how long it waits after the engine
	// or the bus failed.
	exportTries = 3
	exportAgain = time.Second
	// storedLately is how old an object may be for the node to reuse it as it is: the leader sweeps no such object before the snapshot
	// that names it is committed.
	storedLately = bus.SweptAfter / 2
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
	objects := a.Bus.Objects(bus.ObjectsVolumes)
	known, err := objects.Stat(ctx, e.Digest)
	switch {
	case err == nil && time.Since(known.Stored) < storedLately:
		return e, nil
	case err == nil: // an earlier snapshot has it: storing it again would put that one at risk
		return e, objects.Touch(ctx, e.Digest)
	case !errors.Is(err, bus.ErrNoKey):
		return e, err
	}
	return e, a.archive(ctx, c, v.Path, func(content io.Reader) error {
		return objects.Put(ctx, e.Digest, &verified{content, sha256.New(), e.Digest})
	})
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

// verified reads content that must have the digest. If the digest differs, reading ends with errChanged, so that the bus stores no
// object under a wrong name.
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
		return n, errChanged
	}
	return n, err
}
