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

// Tell replaces the container's topology file atomically, so that a reader gets either the old or the new content. The file is in an
// anonymous volume on this host, which Podman removes with the container.
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

// replace atomically replaces the content of the file in the folder. The instance can write to the folder, too. So replace first removes
// whatever has the name of the new file, and follows no link out of the folder.
func replace(folder, name string, content []byte) error {
	const readable = 0o644 // by any user, because the instance may run as any
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

// write creates a file, and fails if it exists.
func write(root *os.Root, name string, content []byte, mode os.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// Ask sends the hook's signal, runs its command or posts asked to it, and waits for the answer.
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
