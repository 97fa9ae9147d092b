package world

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/rookery-project/rookery/node"
)

// Export implements node.Engine.
func (e *engine) Export(ctx context.Context, c node.Container, path string) (io.ReadCloser, error) {
	k := e.call(Check, "volume of "+c.Instance.String(), 0)
	k.route = e.host.writing
	return do(ctx, k, func() (io.ReadCloser, error) {
		content, err := e.host.engine.Export(context.Background(), c, path)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(content)
		e.host.world.checker.Archived(body, c.Instance, e.host.engine.Held(c))
		return io.NopCloser(bytes.NewReader(body)), err
	})
}

// writing carries a call that writes or reads much data. Some of these calls take long.
func (h *host) writing(k *call) {
	const share, longest = 4, 20 * time.Second
	var lasts time.Duration
	if h.draw.IntN(share) == 0 {
		lasts = time.Duration(h.draw.Int64N(int64(longest)))
	}
	h.take(k, lasts)
}
