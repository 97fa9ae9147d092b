package podman

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"
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
