package watchdog

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Guarded is a container that has to have ended when its window has passed since its node was last heard.
type Guarded struct {
	// ID is Podman's own of the container.
	ID string `json:"id"`
	// PIDFile is where its monitor writes the number of its process, before that runs any program.
	PIDFile string `json:"pid_file"`
	// Window is how long after its node was heard it may run, in nanoseconds.
	Window time.Duration `json:"window"`
}

// Limits of what a watchdog takes.
const (
	maxGuarded = 10_000
	maxMessage = 8 << 20 // bytes
)

// message is what a node says, as one line of JSON.
type message struct {
	// Heard is when the node was last heard, on the clock that all processes of a host share.
	Heard   instant   `json:"heard"`
	Guarded []Guarded `json:"guarded"`
}

// answer is what the watchdog says once it guards what a message names.
type answer struct {
	// Guarding counts all that it guards.
	Guarding int `json:"guarding"`
	// Refused says why it guards nothing of the message; "" where it does.
	Refused string `json:"refused,omitempty"`
}

// instant is a time of CLOCK_BOOTTIME in nanoseconds: it goes on while the host sleeps, and nobody sets it.
type instant int64

func now() (instant, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0, fmt.Errorf("reading the clock: %w", err)
	}
	return instant(t.Nano()), nil
}

// add returns the time that is so much later.
func (i instant) add(d time.Duration) instant { return i + instant(d) }
