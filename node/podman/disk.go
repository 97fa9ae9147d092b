package podman

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"syscall"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// block is what the kernel counts a file's disk in, whatever the file system.
const block = 512

// Usage measures what the container and its sidecars take of the disk. Podman counts what they have written to their own
// files; scratch disk is counted here, as Podman can do that for all volumes of a host alone.
func (e *Engine) Usage(ctx context.Context, c node.Container, scratch string) (node.Usage, error) {
	var u node.Usage
	for _, container := range append([]string{c.Handle}, c.Sidecars...) {
		var found struct {
			SizeRw int64
			Mounts []struct{ Destination, Source string }
		}
		err := e.do(ctx, request{
			method: http.MethodGet, path: containerPath(container, "/json"), query: url.Values{"size": {"true"}},
		}, &found)
		if gone(err) {
			continue // it ends, and is looked at
		}
		if err != nil {
			return u, fmt.Errorf("measuring the disk of container %s: %w", container, err)
		}
		u.Own += events.Size(max(found.SizeRw, 0))
		for _, m := range found.Mounts {
			if container != c.Handle || m.Destination != scratch {
				continue
			}
			if u.Scratch, err = taken(ctx, m.Source); err != nil {
				return u, fmt.Errorf("measuring the scratch disk of container %s: %w", container, err)
			}
		}
	}
	return u, nil
}

// taken is what all files below the folder take. Those that go meanwhile take nothing.
func taken(ctx context.Context, folder string) (events.Size, error) {
	var all events.Size
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if path != folder && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // it has gone
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !d.IsDir() {
			all += events.Size(max(stat.Blocks, 0) * block)
		}
		return nil
	})
	return all, err
}
