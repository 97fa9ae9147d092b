package events

import (
	"slices"
	"time"
)

// Defaults and limits of restarts.
const (
	DefaultRestartDelay    = Duration(15 * time.Second)
	DefaultRestartMaxDelay = Duration(5 * time.Minute)
	MinRestartDelay        = Duration(10 * time.Millisecond)
	MaxRestartDelay        = Duration(24 * time.Hour)
	MaxRestartAttempts     = 10_000
)

// SteadyAfter is how long an instance must have served for its failures before, and those of its slot, to be forgotten.
const SteadyAfter = 5 * time.Minute

// RestartSpec says what follows the end of an instance's process.
type RestartSpec struct {
	// Restart says whether and when an instance is started again on its node, once its process has ended or is unhealthy. An instance that
	// could not start at all is always tried again: after a second, and then after twice as long each time, up to a minute. Instances of a
	// job are never started again: delay and max_delay are then those of the job, before another instance takes the place of one that
	// failed.
	Restart *Restart `json:"restart,omitempty"`
}

// Restart is when an instance is started again.
type Restart struct {
	// Policy is always, on-failure (not after exit code 0) or never. Default: always.
	Policy RestartPolicy `json:"policy,omitempty"`
	// Delay goes before the first restart. Each further one in a row waits twice as long. Default: 15s.
	Delay Duration `json:"delay,omitzero"`
	// MaxDelay is the longest delay. Default: 5m, or delay where that is longer.
	MaxDelay Duration `json:"max_delay,omitzero"`
	// Attempts is how many restarts on one node there are within the window. After one more end another instance takes its place, on
	// another node where one can have it. It waits for the delay, and each further one in a row for twice as long. Default: no limit.
	Attempts uint32 `json:"attempts,omitzero"`
	// Window is the time that attempts are counted in. A node's process counts from 0 again when it starts. Default: no window; all
	// attempts of the instance count.
	Window Duration `json:"window,omitzero"`
}

// RestartPolicy is after which ends an instance is started again.
type RestartPolicy string

// The restart policies.
const (
	RestartAlways    RestartPolicy = "always"
	RestartOnFailure RestartPolicy = "on-failure"
	RestartNever     RestartPolicy = "never"
)

// NoRestart is why an instance that has ended is not started again on its node, and nothing of it runs; "" where it is.
type NoRestart string

// The reasons why an instance is not started again.
const (
	NoRestartAttempts NoRestart = "attempts" // it was restarted as often as its spec lets it
	NoRestartPolicy   NoRestart = "policy"   // its restart policy does not start it again after such an end
)

// withDefaults writes out the defaults.
func (r Restart) withDefaults() Restart {
	if r.Policy == "" {
		r.Policy = RestartAlways
	}
	if r.Delay == 0 {
		r.Delay = DefaultRestartDelay
	}
	if r.MaxDelay == 0 {
		r.MaxDelay = max(DefaultRestartMaxDelay, r.Delay)
	}
	return r
}

// Restarts returns when the instance is started again, with the defaults.
func (s RestartSpec) Restarts() Restart {
	if s.Restart == nil {
		return Restart{}.withDefaults()
	}
	return s.Restart.withDefaults()
}

// Backoff returns the delay after this many failures in a row, which is at least 1: the first, and twice as long for each
// further one, at most the longest. The defaults must be written out.
func (r Restart) Backoff(failures uint32) time.Duration {
	delay := time.Duration(r.Delay)
	for range failures - 1 {
		if delay >= time.Duration(r.MaxDelay) {
			break
		}
		delay *= 2
	}
	return min(delay, time.Duration(r.MaxDelay))
}

// canonical leaves out what is the default as a whole, and otherwise writes the defaults out.
func (s RestartSpec) canonical() RestartSpec {
	r := s.Restarts()
	if r == (Restart{}.withDefaults()) {
		return RestartSpec{}
	}
	return RestartSpec{&r}
}

func (s RestartSpec) check() error {
	r := s.Restarts()
	known := []RestartPolicy{RestartAlways, RestartOnFailure, RestartNever}
	if !slices.Contains(known, r.Policy) {
		return Reject(CodeInvalidValue, "restart.policy", "restart.policy %s is not known: known are %s", quote(string(r.Policy)), listed(known))
	}
	if err := checkBetween("restart.delay", r.Delay, MinRestartDelay, MaxRestartDelay); err != nil {
		return err
	}
	if err := checkBetween("restart.max_delay", r.MaxDelay, r.Delay, MaxRestartDelay); err != nil {
		return err
	}
	if r.Attempts > MaxRestartAttempts {
		return Reject(CodeOutOfRange, "restart.attempts", "restart.attempts %d is more than %d", r.Attempts, MaxRestartAttempts)
	}
	if r.Window != 0 && r.Attempts == 0 {
		return Reject(CodeMissingField, "restart.attempts", "restart.attempts is missing: say how many restarts there may be within the window")
	}
	return checkBetween("restart.window", r.Window, 0, MaxRestartDelay)
}
