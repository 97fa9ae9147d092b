package world

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// fill fills the volumes that must exist before the engine makes a container. A real engine fills them in one call. Here each volume takes two
// calls, so that the engine or the node's process may end between them. It returns the plan without the content on the bus.
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
		return nil, errors.New("it was removed after it had been filled")
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
			e.host.world.checker.Emptied(e.host.name, p, f.Volume)
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
			e.host.world.checker.Filled(e.host.name, f.Volume, body)
		}
		return struct{}{}, err
	})
	return err
}

// readEnding ends content with an error, or with io.EOF if there is none.
type readEnding struct{ err error }

// Read implements io.Reader.
func (e readEnding) Read([]byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	return 0, io.EOF
}
