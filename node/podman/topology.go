package podman

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

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
	if err := replace(source, events.TopologyFile, document); err != nil {
		return fmt.Errorf("writing a topology: %w", err)
	}
	return nil
}

// replace has the file in the folder hold the content, from one moment to the next. The instance can write to the folder as well: whatever it
// has put under the name of the new file goes, and no link leads out of the folder.
func replace(folder, name string, content []byte) error {
	const readable = 0o644 // by whatever user the instance is
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	next := name + ".next"
	err = root.RemoveAll(next)
	if err == nil {
		err = write(root, next, content, readable)
	}
	if err == nil {
		err = root.Rename(next, name)
	}
	return errors.Join(err, root.Close())
}

// write makes a file that was not there.
func write(root *os.Root, name string, content []byte, mode os.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
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
