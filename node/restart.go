package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// steadyAfter is how long an instance must have served for its failures to be forgotten.
const steadyAfter = 5 * time.Minute

func (v View) restarts() events.Restart {
	if v.Order.Spec == nil {
		return events.RestartSpec{}.Restarts()
	}
	return v.Order.Spec.Restarts()
}

// delay is how long the instance rests after its last failure.
func (v View) delay() time.Duration {
	return v.restarts().Backoff(v.Failures)
}

// counted counts an end, and says where it was the last one.
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

// GivenUp says why the instance is not started again, or "" where it is. It goes by the attempt and by how that ended,
// which its container tells as long as it stands: so nothing removes it then.
func (v View) GivenUp() string {
	if v.Phase != events.PhaseOffline || !hasRun(v.Reason) {
		return ""
	}
	r := v.restarts()
	switch {
	case r.Policy == events.RestartNever:
		return "it is not restarted: the policy is never"
	case r.Policy == events.RestartOnFailure && v.ExitCode != nil && *v.ExitCode == 0:
		return "it is not restarted: the policy is on-failure"
	case r.Attempts > 0 && r.Window == 0 && v.Attempt >= r.Attempts:
		return fmt.Sprintf("it is not restarted: it was %d times", r.Attempts)
	case r.Attempts > 0 && r.Window > 0 && len(v.Ends) > int(r.Attempts):
		return fmt.Sprintf("it is not restarted: it was %d times within %s", r.Attempts, time.Duration(r.Window))
	}
	return ""
}
