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
	// exportTries is how often a volume is read that changes while it is kept, and exportAgain how long a node rests after the engine or
	// the bus failed.
	exportTries = 3
	exportAgain = time.Second
	// storedLately is how old an object may be that is not stored again: nobody sweeps it before the snapshot that names it is
	// committed.
	storedLately = bus.SweptAfter / 2
)

// errChanged occurs when a volume does not hold any more what it did as its digest was made.
var errChanged = errors.New("it changed while it was kept: have hooks.snapshot have the service leave it as it is")

// export has the bus keep what the volumes hold, each under the digest of its content: what it has already is not sent again.
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

// keepVolume tries for as long as ctx leaves time for another try, but for what trying again does not mend.
func (a *Agent) keepVolume(ctx context.Context, c node.Container, v events.Volume) (events.Export, error) {
	said := ""
	for changed := 0; ; {
		e, err := a.exportVolume(ctx, c, v)
		if err != nil && err.Error() != said {
			said = err.Error()
			a.Log.Warn("a volume cannot be kept", "instance", c.Instance.String(), "volume", v.Name, "error", err)
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

// exportVolume reads the volume twice: an object has its name before it is stored.
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
	case err == nil: // of a snapshot before: what that has is not put at risk
		return e, objects.Touch(ctx, e.Digest)
	case !errors.Is(err, bus.ErrNoKey):
		return e, err
	}
	return e, a.archive(ctx, c, v.Path, func(content io.Reader) error {
		return objects.Put(ctx, e.Digest, &verified{content, sha256.New(), e.Digest})
	})
}

// archive reads what the folder in the container holds.
func (a *Agent) archive(ctx context.Context, c node.Container, path string, read func(io.Reader) error) error {
	content, err := a.Engine.Export(ctx, c, path)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // read to its end, or given up
	return read(content)
}

// verified reads what must have the digest. Where it has not, it ends with errChanged: nothing is stored under a name that is not
// its own.
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
