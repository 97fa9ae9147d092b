package compose

import (
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
)

// restarts says what follows the end of an instance. Where the file says nothing of it, instances are always started again.
func (o *one) restarts() {
	made := &events.Restart{}
	policy, attempts, counted := strings.Cut(o.Restart, ":")
	switch policy {
	case "":
		if o.Deploy == nil || o.Deploy.RestartPolicy == nil {
			o.warn("restart", nil, "an instance that has ended is started again always, where Compose leaves it: say restart: \"no\" for one that ends by itself")
		}
	case "no":
		made.Policy = events.RestartNever
	case "always", "unless-stopped": // who stops a service suspends or drops it, and then nothing is started again
		made.Policy = events.RestartAlways
	case "on-failure":
		made.Policy = events.RestartOnFailure
		if n, err := strconv.ParseUint(attempts, 10, 32); counted && err == nil {
			made.Attempts = uint32(n)
		}
	default:
		o.refuse("restart", o.Restart, "an instance is started again always, on-failure, unless-stopped or not (\"no\"): use one of these")
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
			o.refuse("deploy.restart_policy.condition", p.Condition, "it is any, on-failure or none: use one of these")
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
			o.refuse("deploy.restart_policy.window", p.Window.String(), "it is the time in which attempts are counted: say max_attempts, too")
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

// backoff says of a job, whose instances are replaced and never started again, how often it may fail.
func (o *one) backoff(r *events.Restart) {
	limit := r.Attempts
	switch {
	case o.Restart == "always" || o.Restart == "unless-stopped":
		o.refuse("restart", o.Restart, "it is a job, which ends: say on-failure, or \"no\"")
	case r.Policy == events.RestartNever:
		o.is.Job.BackoffLimit = new(uint32)
	case limit > 0:
		o.is.Job.BackoffLimit = &limit
	}
	if r.Delay > 0 {
		o.is.Restart = &events.Restart{Delay: r.Delay}
	}
}
