package compose

import (
	"strconv"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// updates maps how an update replaces instances. Without settings in the file, Rookery's defaults apply.
func (o *one) updates() {
	u, back := o.Deploy.UpdateConfig, o.Deploy.RollbackConfig
	if o.is.IsJob() && (u != nil || back != nil) {
		o.refuse("deploy.update_config", nil, "a job starts over with every change: remove update_config and rollback_config")
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
		o.refuse("deploy.update_config.failure_action", u.FailureAction, "want pause, continue or rollback")
	}
	o.is.Update = made
}

// ratio returns the ratio as the file writes it, to at most six digits. compose-go stores it in 32 bits, and the 32-bit value of 0.3
// differs from the 64-bit one.
func ratio(read float32) events.Ratio {
	written, err := strconv.ParseFloat(strconv.FormatFloat(float64(read), 'g', -1, 32), 64)
	if err != nil { // cannot happen: a formatted number always parses
		return events.Ratio(read)
	}
	return events.Ratio(written)
}

// rollback refuses settings that differ from those of the update, because Rookery uses the same ones for a rollback.
func (o *one) rollback(u, back *types.UpdateConfig) {
	if u == nil {
		u = &types.UpdateConfig{}
	}
	const instead = "a rollback uses the settings of update_config: write the same value there, or leave it out"
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
