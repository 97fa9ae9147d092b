package watchdog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// ward is a guarded container.
type ward struct {
	Guarded
	// heard is its node's last answered heartbeat among the messages that named it; named is when the last of these came.
	heard, named instant
	// process is its pidfd; none until the watchdog has found it.
	process int
	// placed says that the watchdog has seen the folder of its pid file.
	placed bool
	// since is when the watchdog began to guard it.
	since instant
}

const none = -1

// unplaced is how long the watchdog waits for a container whose folder it has never seen: a Podman that hung may still create it.
const unplaced = instant(1 << 42) // a good hour

// find looks for the container's process. It ignores a process ID that another process has got since.
func (w *ward) find() error {
	if w.process != none {
		return nil
	}
	text, err := os.ReadFile(w.PIDFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the process of container %s: %w", w.ID, err)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil || pid <= 0 {
		return nil // it is being written
	}
	process, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the process of container %s: %w", w.ID, err)
	}
	if !belongs(pid, w.ID) {
		return unix.Close(process)
	}
	w.process = process
	return nil
}

// belongs reports whether a process, held by a pidfd, belongs to the container: it is in the container's control group, or its parent is
// the container's monitor.
func belongs(pid int, id string) bool {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	if groups, err := os.ReadFile(filepath.Join(folder, "cgroup")); err == nil && bytes.Contains(groups, []byte(id)) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return false
	}
	// The name in parentheses may hold anything; behind it come the state and the parent.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return false
	}
	words, err := os.ReadFile(filepath.Join("/proc", string(fields[1]), "cmdline"))
	return err == nil && bytes.Contains(words, []byte(id))
}

// over reports whether nothing is left to guard: its process has ended, or the container is gone.
func (w *ward) over(at instant) bool {
	if w.process != none {
		poll := []unix.PollFd{{Fd: int32(w.process), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return err == nil && n > 0
	}
	_, err := os.Stat(filepath.Dir(w.PIDFile))
	there := err == nil
	if !there && !w.placed {
		return at-w.since > unplaced
	}
	w.placed = true
	return errors.Is(err, fs.ErrNotExist)
}

// end kills the container's process if it is known.
func (w *ward) end() error {
	if w.process == none {
		return nil
	}
	err := unix.PidfdSendSignal(w.process, unix.SIGKILL, nil, 0)
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("ending container %s: %w", w.ID, err)
}

func (w *ward) release() {
	if w.process != none {
		_ = unix.Close(w.process) // closing a pidfd loses no data
	}
}
