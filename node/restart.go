package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

func (v View) restarts() events.Restart {
	if v.Order.Spec == nil {
		return events.RestartSpec{}.Restarts()
	}
	return v.Order.Spec.Restarts()
}

// delay is how long the node waits after the instance's last end before it starts the instance again.
func (v View) delay() time.Duration {
	return v.restarts().Backoff(v.Failures)
}

// The node repeats a failed step sooner than it restarts an instance that ran and ended: mostly an engine or a registry is unreachable
// for a moment.
const (
	firstStepDelay = events.Duration(time.Second)
	maxStepDelay   = events.Duration(time.Minute)
)

// stepDelay is how long the node waits after a failed step before it repeats that.
func (v View) stepDelay() time.Duration {
	r := v.restarts()
	return events.Restart{Delay: min(r.Delay, firstStepDelay), MaxDelay: min(r.MaxDelay, maxStepDelay)}.Backoff(v.Failures)
}

// counted counts an end, and adds to the message why the instance does not start again, if it does not.
func (v View) counted(now time.Time) View {
	if window := time.Duration(v.restarts().Window); window > 0 {
		ends := append(slices.Clone(v.Ends), now) // a copy: earlier views keep theirs
		v.Ends = slices.DeleteFunc(ends, func(end time.Time) bool { return now.Sub(end) > window })
	}
	if why := v.GivenUp(); why != "" {
		v.Message = strings.TrimPrefix(v.Message+"; "+why, "; ")
	}
	return v
}

// GivenUp returns why the node does not start the instance again; "" if it does. The answer follows from the attempt and from how it
// ended. Only the container tells these to a restarted process of the node, so the node keeps the container.
func (v View) GivenUp() string {
	_, why := v.restarted()
	return why
}

// NoRestart is the reason that the node reports to the leader, once no part of the instance runs. Until then the instance still uses
// its share of the node.
func (v View) NoRestart() events.NoRestart {
	if v.Container.runs() {
		return ""
	}
	reason, _ := v.restarted()
	return reason
}

func (v View) restarted() (events.NoRestart, string) {
	if v.Phase != events.PhaseOffline || !v.Reason.HasRun() {
		return "", ""
	}
	r := v.restarts()
	switch {
	case r.Policy == events.RestartNever:
		return events.NoRestartPolicy, "it is not restarted: the policy is never"
	case r.Policy == events.RestartOnFailure && v.ExitCode != nil && *v.ExitCode == 0:
		return events.NoRestartPolicy, "it is not restarted: the policy is on-failure"
	case r.Attempts > 0 && r.Window == 0 && v.Attempt >= r.Attempts:
		return events.NoRestartAttempts, fmt.Sprintf("it is not restarted here: it was %d times", r.Attempts)
	case r.Attempts > 0 && r.Window > 0 && len(v.Ends) > int(r.Attempts):
		return events.NoRestartAttempts,
			fmt.Sprintf("it is not restarted here: it was %d times within %s", r.Attempts, time.Duration(r.Window))
	}
	return "", ""
}
