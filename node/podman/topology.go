package podman

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// Tell replaces the file of the container's topology by another of that name, so that whoever reads it has the one or the other.
// It is in an anonymous volume, which goes with the container, and which Podman has on this host.
func (e *Engine) Tell(ctx context.Context, c node.Container, path string, document []byte) error {
	source, err := e.mounted(ctx, c, path)
	if err != nil {
		return err
	}
	return replace(filepath.Join(source, events.TopologyFile), document)
}

// replace has the file hold the content, from one moment to the next. What an earlier call has left under the name of the new
// file is written over.
func replace(name string, content []byte) error {
	const readable = 0o644 // by whatever user the instance is
	next := name + ".next"
	if err := os.WriteFile(next, content, readable); err != nil {
		return fmt.Errorf("writing a topology: %w", err)
	}
	return os.Rename(next, name)
}

// Ask sends the hook's signal, runs its command or posts what is asked, and waits for the answer.
func (e *Engine) Ask(ctx context.Context, c node.Container, hook events.Hook, asked node.Asked, address string) error {
	switch {
	case hook.Signal != "":
		return e.do(ctx, request{method: http.MethodPost, path: containerPath(c.Handle, "/kill"), query: url.Values{"signal": {hook.Signal}}}, nil)
	case hook.HTTP != nil:
		return post(ctx, c, *hook.HTTP, asked, address)
	}
	return e.execute(ctx, c, hook.Exec, asked.Variables())
}

func post(ctx context.Context, c node.Container, hook events.HTTPHook, what node.Asked, address string) error {
	target, err := published(c, hook.Port, address)
	if err != nil {
		return err
	}
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	asked, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+target+hook.Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	asked.Header.Set("Content-Type", "application/json")
	return answered(asked, http.StatusMultipleChoices)
}
