package podman

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// readEvery is how often the exit code is looked for: the monitor writes it about a millisecond after the exit, and to
// read a small file costs a hundredth of asking Podman, which then saves the state before it answers.
const readEvery = 300 * time.Microsecond

// learn takes from a monitor's arguments where exit codes are written: Podman tells it nowhere else. It is one folder
// for all containers of a service.
func (e *Engine) learn(monitor int) {
	if !e.visible || monitor <= 0 || e.exitFolder.Load() != nil {
		return
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(monitor) + "/cmdline")
	if err != nil {
		return // it ended: the next one tells
	}
	words := bytes.Split(text, []byte{0})
	for i, word := range words[:len(words)-1] {
		if folder := string(words[i+1]); string(word) == "--exit-dir" && filepath.IsAbs(folder) {
			e.exitFolder.Store(&folder)
			return
		}
	}
}

// awaitExit returns the exit code as soon as the container's monitor has written it, or nothing after noticeEvery.
func (e *Engine) awaitExit(ctx context.Context, id string) (int32, bool, error) {
	again, over := time.NewTicker(readEvery), time.NewTimer(noticeEvery)
	defer again.Stop()
	defer over.Stop()
	for {
		if code, ok := e.readExit(id); ok {
			return code, true, nil
		}
		select {
		case <-again.C:
		case <-over.C:
			return 0, false, nil
		case <-ctx.Done():
			return 0, false, ctx.Err()
		}
	}
}

func (e *Engine) readExit(id string) (int32, bool) {
	folder := e.exitFolder.Load()
	if folder == nil {
		return 0, false
	}
	text, err := os.ReadFile(filepath.Join(*folder, id))
	if err != nil {
		return 0, false
	}
	code, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 32)
	return int32(code), err == nil // the monitor puts the file there whole
}

// remember keeps a container whose process has just ended, for the one Inspect that follows the hint, and whether it
// was killed for want of memory.
func (e *Engine) remember(gone watched) {
	starved := counted(gone.oom)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recent[gone.found.ID] = gone.found
	if starved {
		e.starved[gone.found.ID] = struct{}{}
	}
}

func (e *Engine) forget(handle string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.recent, handle)
	delete(e.starved, handle)
	delete(e.monitored, handle)
}

// justEnded returns the instance's container where a watch saw its end and the monitor has written the exit code, and
// nil otherwise. Podman is not asked: it cleans up after an exit, and for 200 ms answers nothing about the container.
// It takes the written code away in that clean-up, so that a container which was replaced since is never mistaken.
func (e *Engine) justEnded(ctx context.Context, owner node.Owner, id events.InstanceID) (*inspected, error) {
	found := e.take(owner, id)
	if found == nil || e.exitFolder.Load() == nil {
		return nil, nil
	}
	code, ok, err := e.awaitExit(ctx, found.ID)
	if err != nil || !ok {
		return nil, err
	}
	return found.ended(code), nil
}

func (e *Engine) take(owner node.Owner, id events.InstanceID) *inspected {
	e.mu.Lock()
	defer e.mu.Unlock()
	for handle, found := range e.recent {
		if c, err := found.container(owner); err == nil && c.Instance == id {
			delete(e.recent, handle)
			if c.Role != node.RoleSidecar { // else Podman tells of the whole
				return found
			}
		}
	}
	return nil
}
