package podman

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rookery-project/rookery/events"
)

// exits tells of processes that end, within about a millisecond: one pidfd each, all in one epoll, which in turn waits
// in Go's own poller. So a thousand containers cost a thousand descriptors, one goroutine and no thread.
type exits struct {
	poll *os.File
	// ended is called with each whose process has ended.
	ended func(watched)
	// closed tells an end that was asked for: the error of a closed file in Go's poller has no name outside it.
	closed atomic.Bool

	mu sync.Mutex
	// watched has the containers by pidfd and fds the pidfds by handle.
	watched map[int32]watched
	fds     map[string]int32
}

type watched struct {
	handle   string
	instance events.InstanceID
	// found is the container as it was while it ran.
	found *inspected
	// oom is the file with the kernel's count of kills for want of memory.
	oom string
}

func newExits(ended func(watched)) (*exits, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making an epoll: %w", err)
	}
	// Go's poller takes a file only if it is non-blocking when it is handed over.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(fmt.Errorf("making an epoll: %w", err), unix.Close(fd))
	}
	return &exits{
		poll: os.NewFile(uintptr(fd), "exits"), ended: ended,
		watched: map[int32]watched{}, fds: map[string]int32{},
	}, nil
}

// has reports whether the container's process is watched already.
func (x *exits) has(handle string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, ok := x.fds[handle]
	return ok
}

// add watches the process. One that is gone already is told at once; where there are no pidfds, or none are left,
// Podman's events have to do.
func (x *exits) add(pid int, w watched) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		x.ended(w)
		return
	}
	if err != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.fds[w.handle]; !ok && x.arm(fd) == nil {
		x.watched[int32(fd)], x.fds[w.handle] = w, int32(fd)
		return
	}
	_ = unix.Close(fd) // not in use
}

func (x *exits) arm(fd int) error {
	poll, err := x.poll.SyscallConn()
	if err != nil {
		return err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	var armed error
	err = poll.Control(func(epoll uintptr) { armed = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, fd, &event) })
	return errors.Join(err, armed)
}

// run tells of exits until close.
func (x *exits) run() error {
	poll, err := x.poll.SyscallConn()
	if err != nil {
		return err
	}
	ready := make([]unix.EpollEvent, 64)
	for {
		var n int
		var failed error
		err := poll.Read(func(epoll uintptr) bool {
			n, failed = unix.EpollWait(int(epoll), ready, 0)
			return n > 0 || failed != nil && !errors.Is(failed, unix.EINTR)
		})
		if x.closed.Load() {
			return nil
		}
		if err := errors.Join(err, failed); err != nil {
			return fmt.Errorf("waiting for exits: %w", err)
		}
		for _, event := range ready[:n] {
			if w, ok := x.drop(event.Fd); ok {
				x.ended(w)
			}
		}
	}
}

func (x *exits) drop(fd int32) (watched, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w, ok := x.watched[fd]
	if ok {
		delete(x.watched, fd)
		delete(x.fds, w.handle)
		_ = unix.Close(int(fd)) // this also takes it out of the epoll
	}
	return w, ok
}

// close ends run and closes all descriptors. Nothing may be added after it.
func (x *exits) close() error {
	x.closed.Store(true)
	err := x.poll.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	for fd := range x.watched {
		_ = unix.Close(int(fd)) // a pidfd holds nothing that could be lost
	}
	clear(x.watched)
	clear(x.fds)
	return err
}
