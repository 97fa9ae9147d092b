package watchdog

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Guarded is a container that must end before its window has passed since its node's last answered heartbeat.
type Guarded struct {
	// ID is Podman's ID of the container.
	ID string `json:"id"`
	// PIDFile is the file in which its monitor writes the ID of its process, before that runs any program.
	PIDFile string `json:"pid_file"`
	// Window is how long it may run after its node's last answered heartbeat, in nanoseconds.
	Window time.Duration `json:"window"`
}

// Limits of what a watchdog accepts.
const (
	maxGuarded = 10_000
	maxMessage = 8 << 20 // bytes
)

// message is a node's message, as one line of JSON.
type message struct {
	// Heard is when the node sent its last answered heartbeat, on the clock that all processes of a host share.
	Heard   instant   `json:"heard"`
	Guarded []Guarded `json:"guarded"`
}

// answer is the watchdog's answer once it guards the containers of a message.
type answer struct {
	// Guarding counts all containers that it guards.
	Guarding int `json:"guarding"`
	// Refused says why it does not guard the containers of the message; "" if it does.
	Refused string `json:"refused,omitempty"`
}

// instant is a time of CLOCK_BOOTTIME in nanoseconds. That clock runs while the host sleeps, and no process can set it.
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
