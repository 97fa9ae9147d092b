package world

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// place is a volume of a host.
type place struct{ host, volume string }

// filled is what a volume was filled with last, and because of what: a digest of "" for one that is not full. Started says that a container
// has started with it since.
type filled struct {
	resumed uint64
	digest  string
	started bool
}

// fill fills the volumes that are to be before a container is made. The engine does that in one call, and both ends of it may be the last
// that it or its process does; it returns the plan without what is read on the bus.
func (e *engine) fill(ctx context.Context, p node.Plan) (node.Plan, error) {
	fills := p.Fills()
	if len(fills) == 0 {
		return p, nil
	}
	due, err := do(ctx, e.call(Inspect, "volumes of "+p.Instance.String(), 0), func() ([]node.Fill, error) { return e.host.engine.Due(p), nil })
	for i := 0; i < len(due) && err == nil; i++ {
		err = e.fillOne(ctx, p, due[i])
	}
	p.Content = func(context.Context, events.Export) (io.ReadCloser, error) {
		return nil, errors.New("somebody has removed it as it was full")
	}
	return p, err
}

func (e *engine) fillOne(ctx context.Context, p node.Plan, f node.Fill) error {
	content, err := p.Content(ctx, f.Export)
	if err != nil {
		return p.Unfilled(f, err.Error())
	}
	body, readErr := io.ReadAll(content) // in memory already
	if err := content.Close(); err != nil {
		return err
	}
	mark, err := do(ctx, e.call(Prepare, "empty "+f.Volume, 0), func() (string, error) {
		mark, err := e.host.engine.BeginFill(p, f)
		if err == nil {
			e.host.world.judge.empties(e.host, p, f)
		}
		return mark, err
	})
	if err != nil {
		return err
	}
	k := e.call(Prepare, "fill "+f.Volume, 0)
	k.route = e.host.writing
	_, err = do(ctx, k, func() (struct{}, error) {
		err := e.host.engine.EndFill(p, f, mark, io.MultiReader(bytes.NewReader(body), readEnding{readErr}))
		if err == nil {
			e.host.world.judge.fills(e.host, f, body)
		}
		return struct{}{}, err
	})
	return err
}

// readEnding is how content ends.
type readEnding struct{ err error }

// Read implements io.Reader.
func (e readEnding) Read([]byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return 0, io.EOF
}

// empties holds no volume to be made anew because of what it was filled for before, once a container may have written into it.
func (j *judge) empties(h *host, p node.Plan, f node.Fill) {
	had := j.volumes[place{h.name, f.Volume}]
	if had.digest != "" && had.started && had.resumed == p.Order.Restore.Resumed && !j.rewound {
		j.breach("restore", "%s fills %s of %s a second time because of %d", h.name, f.Volume, p.Instance, had.resumed)
	}
	j.volumes[place{h.name, f.Volume}] = filled{resumed: p.Order.Restore.Resumed}
}

// fills notes what the volume holds.
func (j *judge) fills(h *host, f node.Fill, body []byte) {
	sum := sha256.Sum256(body)
	at := place{h.name, f.Volume}
	j.volumes[at] = filled{resumed: j.volumes[at].resumed, digest: hex.EncodeToString(sum[:])}
}

// restores notes under which order a container was made: what the order says once that stands is for the next.
func (j *judge) restores(h *host, c node.Container, p node.Plan) {
	if _, known := j.plans[process{h.name, c.Handle}]; !known {
		j.plans[process{h.name, c.Handle}] = p
	}
}

// startsWith holds a container that starts to have in its volumes what its order says.
func (j *judge) startsWith(h *host, c node.Container) {
	p, known := j.plans[process{h.name, c.Handle}]
	if !known {
		return
	}
	for _, v := range p.Order.Spec.Volumes {
		if v.Kind != events.VolumeNamed {
			continue
		}
		at := place{h.name, p.VolumeName(v.Name)}
		has := j.volumes[at]
		if r := p.Order.Restore; r != nil {
			i := slices.IndexFunc(r.Volumes, func(e events.Export) bool { return e.Volume == v.Name })
			if i >= 0 && (has.resumed != r.Resumed || has.digest != r.Volumes[i].Digest) {
				j.breach("restore", "%s starts %s with volume %s filled because of %d with %q, and the order says %d with %q",
					h.name, c.Instance, v.Name, has.resumed, has.digest, r.Resumed, r.Volumes[i].Digest)
			}
		}
		has.started = true
		j.volumes[at] = has
	}
}

// wiped notes that nothing of before is on the host: volumes that come are filled anew, and containers have the names of others.
func (j *judge) wiped(h *host) {
	maps.DeleteFunc(j.volumes, func(at place, _ filled) bool { return at.host == h.name })
	maps.DeleteFunc(j.plans, func(at process, _ node.Plan) bool { return at.host == h.name })
}
