package node

import (
	"context"
	"errors"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Health is what health checks have shown about a running container.
type Health struct {
	// Since is when the node first saw it running. Due is when the next check is due.
	Since time.Time
	Due   time.Time
	// Well reports whether it has been healthy once. Misses counts the checks in a row that have failed since.
	Well   bool
	Misses uint32
}

// quickly is the longest time between two checks of an instance that has not been healthy yet, so that it serves as soon as it can.
const quickly = events.Duration(time.Second)

// Check returns the health check of the instance, or nil.
func (v View) Check() *events.Health {
	if v.Order.Spec == nil {
		return nil
	}
	return v.Order.Spec.Health
}

// nextRunning is the next step of an instance whose container runs and must run.
func (v View) nextRunning(now time.Time) (Step, time.Time) {
	check := v.Check()
	switch {
	case v.Container.Role == RoleInit:
		return StepNone, time.Time{}
	case v.Phase != events.PhaseOnline && (check == nil || v.Health.Well):
		return StepServe, time.Time{}
	case check == nil:
		return StepNone, time.Time{}
	case now.Before(v.Health.Due):
		return StepWait, v.Health.Due
	}
	return StepCheck, time.Time{}
}

// Checked returns the view after a health check of c, which may have ended or been replaced since.
func (v View) Checked(c Container, err error, now time.Time) View {
	check := v.Check()
	if check == nil || v.Order.Action != events.ActionRun || v.Phase == events.PhaseOffline ||
		v.Container == nil || v.Container.Handle != c.Handle || v.Container.State != Running {
		return v
	}
	h := &v.Health
	h.Due = now.Add(time.Duration(check.Interval))
	if err == nil {
		h.Well, h.Misses = true, 0
		return v
	}
	if h.Well {
		h.Misses++
		if h.Misses < check.Retries {
			return v
		}
		return v.unhealthy(err, *check, now)
	}
	h.Due = now.Add(time.Duration(min(check.Interval, quickly)))
	patience := check.StartPeriod + events.Duration(check.Retries)*check.Interval
	if now.Before(h.Since.Add(time.Duration(patience))) {
		return v
	}
	return v.unhealthy(err, *check, now)
}

// Unchecked returns the view after a check that the node could not run. The next check decides.
func (v View) Unchecked(now time.Time) View {
	if check := v.Check(); check != nil {
		v.Health.Due = now.Add(time.Duration(check.Interval))
	}
	return v
}

func (v View) unhealthy(err error, check events.Health, now time.Time) View {
	message := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		message = "no answer within " + time.Duration(check.Timeout).String()
	}
	return v.offline(events.OfflineUnhealthy, nil, "the health check fails: "+message).endedHere(now)
}
