package compose

import (
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// restarts maps what happens after an instance ends. Without settings in the file, Rookery always restarts it.
func (o *one) restarts() {
	made := &events.Restart{}
	policy, attempts, counted := strings.Cut(o.Restart, ":")
	switch policy {
	case "":
		if o.Deploy == nil || o.Deploy.RestartPolicy == nil {
			o.warn("restart", nil, "Rookery always restarts an instance that has ended, but Compose does not: write restart: \"no\" for "+
				"one that ends by itself")
		}
	case "no":
		made.Policy = events.RestartNever
	case "always", "unless-stopped": // the same here: suspended and dropped services do not restart
		made.Policy = events.RestartAlways
	case "on-failure":
		made.Policy = events.RestartOnFailure
		if n, err := strconv.ParseUint(attempts, 10, 32); counted && err == nil {
			made.Attempts = uint32(n)
		}
	default:
		o.refuse("restart", o.Restart, "want always, on-failure, unless-stopped or \"no\"")
		return
	}
	if p := o.Deploy.RestartPolicy; p != nil {
		switch p.Condition {
		case "", "any":
			made.Policy = events.RestartAlways
		case "on-failure":
			made.Policy = events.RestartOnFailure
		case "none":
			made.Policy = events.RestartNever
		default:
			o.refuse("deploy.restart_policy.condition", p.Condition, "want any, on-failure or none")
		}
		if p.Delay != nil {
			made.Delay = max(events.Duration(*p.Delay), events.MinRestartDelay)
		}
		if p.MaxAttempts != nil {
			made.Attempts = uint32(*p.MaxAttempts)
		}
		switch {
		case p.Window == nil:
		case made.Attempts == 0:
			o.refuse("deploy.restart_policy.window", p.Window.String(), "the window needs max_attempts: set it too")
		default:
			made.Window = events.Duration(*p.Window)
		}
	}
	if o.is.IsJob() {
		o.backoff(made)
		return
	}
	if *made != (events.Restart{}) {
		o.is.Restart = made
	}
}

// backoff maps how often a job may fail. Rookery replaces a job's failed instances and does not restart them.
func (o *one) backoff(r *events.Restart) {
	limit := r.Attempts
	switch {
	case o.Restart == "always" || o.Restart == "unless-stopped":
		o.refuse("restart", o.Restart, "a job ends by itself: want on-failure or \"no\"")
	case r.Policy == events.RestartNever:
		o.is.Job.BackoffLimit = new(uint32)
	case limit > 0:
		o.is.Job.BackoffLimit = &limit
	}
	if r.Delay > 0 {
		o.is.Restart = &events.Restart{Delay: r.Delay}
	}
}
