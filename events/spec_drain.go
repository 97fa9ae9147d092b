package events

import "time"

// DrainSpec says how long an instance still serves once others are told to reach it no longer.
type DrainSpec struct {
	// DrainDelay is the time between the withdrawal of an instance's endpoints and its stop, in which open requests end and others learn that it
	// goes. The hook hooks.before_stop comes after it. Instances without ports are stopped at once. An update waits for update.healthy_deadline
	// until an instance has stopped, so that the delay is at most half of that. Default: 1s.
	DrainDelay *Duration `json:"drain_delay,omitzero"`
}

// Limits and default of the delay.
const (
	DefaultDrainDelay = Duration(time.Second)
	MaxDrainDelay     = Duration(time.Hour)
)

// DrainsFor returns how long an instance serves on after the withdrawal of its endpoints. One without ports has none.
func (s Spec) DrainsFor() Duration {
	delay := DefaultDrainDelay
	switch {
	case len(s.Ports) == 0:
		return 0
	case s.DrainDelay != nil:
		delay = *s.DrainDelay
	}
	return min(delay, s.Updates().HealthyDeadline/2)
}

// canonical leaves out the default.
func (s DrainSpec) canonical() DrainSpec {
	if s.DrainDelay == nil || *s.DrainDelay == DefaultDrainDelay {
		return DrainSpec{}
	}
	delay := *s.DrainDelay
	return DrainSpec{&delay}
}

func (s DrainSpec) check() error {
	if s.DrainDelay == nil {
		return nil
	}
	return checkBetween("drain_delay", *s.DrainDelay, 0, MaxDrainDelay)
}
