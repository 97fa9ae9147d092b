package compose

import (
	"strconv"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// updates says how instances are replaced by those of the next revision. Where the file says nothing of it, as Rookery does.
func (o *one) updates() {
	u, back := o.Deploy.UpdateConfig, o.Deploy.RollbackConfig
	if o.is.IsJob() && (u != nil || back != nil) {
		o.refuse("deploy.update_config", nil, "a job begins anew with every change: leave update_config and rollback_config out")
		return
	}
	if back != nil {
		o.rollback(u, back)
	}
	if u == nil {
		return
	}
	made := &events.Update{
		Order: events.StopFirst, Delay: events.Duration(u.Delay), Monitor: events.Duration(u.Monitor), MaxFailureRatio: ratio(u.MaxFailureRatio),
	}
	if u.Order != "" {
		made.Order = events.UpdateOrder(u.Order)
	}
	if p := u.Parallelism; p != nil {
		made.Parallelism = uint32(min(*p, events.MaxScale))
		if *p == 0 { // all at once
			made.Parallelism = events.MaxScale
		}
	}
	switch u.FailureAction {
	case "", "pause", "continue", "rollback":
		made.OnFailure = events.FailureAction(u.FailureAction)
	default:
		o.refuse("deploy.update_config.failure_action", u.FailureAction, "it is pause, continue or rollback: use one of these")
	}
	o.is.Update = made
}

// ratio returns the one that is written, as far as that has no more than six digits: compose-go keeps the nearest of 32 bits, and 0.3
// is not what that has as one of 64.
func ratio(read float32) events.Ratio {
	written, err := strconv.ParseFloat(strconv.FormatFloat(float64(read), 'g', -1, 32), 64)
	if err != nil { // what is formatted can be read, always
		return events.Ratio(read)
	}
	return events.Ratio(written)
}

// rollback refuses what would have a service go back otherwise than it goes on.
func (o *one) rollback(u, back *types.UpdateConfig) {
	if u == nil {
		u = &types.UpdateConfig{}
	}
	const instead = "a service goes back as it goes on: say the same in update_config, or leave it out"
	if back.Parallelism != nil && (u.Parallelism == nil || *u.Parallelism != *back.Parallelism) {
		o.refuse("deploy.rollback_config.parallelism", *back.Parallelism, instead)
	}
	for _, c := range []struct {
		field string
		same  bool
		given any
	}{
		{"delay", back.Delay == 0 || back.Delay == u.Delay, back.Delay.String()},
		{"monitor", back.Monitor == 0 || back.Monitor == u.Monitor, back.Monitor.String()},
		{"max_failure_ratio", back.MaxFailureRatio == 0 || back.MaxFailureRatio == u.MaxFailureRatio, back.MaxFailureRatio},
		{"order", back.Order == "" || back.Order == u.Order, back.Order},
		{"failure_action", back.FailureAction == "" || back.FailureAction == "pause", back.FailureAction},
	} {
		if !c.same {
			o.refuse("deploy.rollback_config."+c.field, c.given, instead)
		}
	}
}
