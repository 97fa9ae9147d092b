package events

import (
	"cmp"
	"slices"
	"time"
)

// Defaults and limits of updates.
const (
	DefaultMinHealthy       = Duration(5 * time.Second)
	DefaultFirstHealthy     = Duration(2 * time.Second)
	DefaultHealthyDeadline  = Duration(5 * time.Minute)
	DefaultProgressDeadline = Duration(10 * time.Minute)
	MinProgressDeadline     = Duration(time.Second)
	MaxUpdateTime           = Duration(24 * time.Hour)
)

// UpdateSpec says how a service gets from one revision to the next.
type UpdateSpec struct {
	// Update says how instances of earlier revisions are replaced, and what happens where their successors do not come to serve. A change
	// of it alone replaces nothing.
	Update *Update `json:"update,omitempty"`
}

// Update is how instances are replaced: in waves, of which each goes through the same phases.
type Update struct {
	// Strategy is rolling, recreate or barrier. Rolling goes wave by wave. Recreate stops all instances before it starts any. Barrier makes
	// all next instances, then all of them serve, and only then the earlier ones stop; where a slot cannot have two at once, all stop
	// first. Default: rolling.
	Strategy UpdateStrategy `json:"strategy,omitempty"`
	// Parallelism is how many slots a wave has. Default: 1.
	Parallelism uint32 `json:"parallelism,omitzero"`
	// Order is start-first (the successor serves before its predecessor stops) or stop-first. Default: start-first. Where a slot cannot
	// have two instances at once, the predecessor stops first: of a global service, of slots with volumes, and where no node has room for
	// both.
	Order UpdateOrder `json:"order,omitempty"`
	// Canaries is how many slots the first wave has, after which the update waits as promote says. 0 for none.
	Canaries uint32 `json:"canaries,omitzero"`
	// Promote is what continues an update once its canaries serve: command (promote) or auto (by itself). Default: command. A return to an
	// earlier revision does not wait for a promotion.
	Promote Promotion `json:"promote,omitempty"`
	// MinHealthy is how long an instance must serve without a break to count. Default: 5s, and 2s until all of the service has served once,
	// but at most the healthy deadline.
	MinHealthy *Duration `json:"min_healthy,omitempty"`
	// HealthyDeadline is how long each phase of a wave may take: slots that are not done by then count as failed. Default: 5m, but at most
	// the progress deadline. After a failover in the phase, the new leader counts from 0 again.
	HealthyDeadline Duration `json:"healthy_deadline,omitzero"`
	// Monitor is how long the instances of a wave are watched before the next: one that does not serve throughout counts
	// as failed.
	Monitor Duration `json:"monitor,omitzero"`
	// Delay goes before the next wave.
	Delay Duration `json:"delay,omitzero"`
	// ProgressDeadline is how long a command waits without any progress before it fails. Default: 10m.
	ProgressDeadline Duration `json:"progress_deadline,omitzero"`
	// MaxFailureRatio is the part of all slots that may fail, from 0 to 1. With more, on_failure says what happens.
	MaxFailureRatio Ratio `json:"max_failure_ratio,omitzero" jsonschema:"minimum=0,maximum=1"`
	// OnFailure is pause (all stays as it is until the next command), continue (the next wave follows all the same) or rollback (the
	// service returns to its last healthy revision and scale). Default: pause.
	OnFailure FailureAction `json:"on_failure,omitempty"`
}

// Ratio is a part of all, from 0 to 1.
type Ratio float64

// UpdateStrategy is which instances are replaced together.
type UpdateStrategy string

// The strategies of updates.
const (
	UpdateRolling  UpdateStrategy = "rolling"
	UpdateRecreate UpdateStrategy = "recreate"
	UpdateBarrier  UpdateStrategy = "barrier"
)

// UpdateOrder is whether the next instance of a slot comes before the one before goes.
type UpdateOrder string

// The orders of updates.
const (
	StartFirst UpdateOrder = "start-first"
	StopFirst  UpdateOrder = "stop-first"
)

// Promotion is what continues an update after its canaries.
type Promotion string

// The values of Promotion.
const (
	PromoteByCommand Promotion = "command"
	PromoteBySelf    Promotion = "auto"
)

// FailureAction is what follows where too many slots failed.
type FailureAction string

// The actions on failure.
const (
	FailurePause    FailureAction = "pause"
	FailureContinue FailureAction = "continue"
	FailureRollback FailureAction = "rollback"
)

// withDefaults writes out the defaults.
func (u Update) withDefaults() Update {
	u.Strategy = cmp.Or(u.Strategy, UpdateRolling)
	if u.Strategy == UpdateRecreate {
		u.Order = cmp.Or(u.Order, StopFirst)
	}
	u.Parallelism, u.Order = max(u.Parallelism, 1), cmp.Or(u.Order, StartFirst)
	if u.Canaries > 0 {
		u.Promote = cmp.Or(u.Promote, PromoteByCommand)
	}
	u.ProgressDeadline = cmp.Or(u.ProgressDeadline, DefaultProgressDeadline)
	u.HealthyDeadline = cmp.Or(u.HealthyDeadline, min(DefaultHealthyDeadline, u.ProgressDeadline))
	if u.MinHealthy == nil {
		least := min(DefaultMinHealthy, u.HealthyDeadline)
		u.MinHealthy = &least
	}
	u.OnFailure = cmp.Or(u.OnFailure, FailurePause)
	return u
}

// Updates returns how instances are replaced, with the defaults.
func (s UpdateSpec) Updates() Update {
	if s.Update == nil {
		return Update{}.withDefaults()
	}
	return s.Update.withDefaults()
}

// FirstHealthy returns how long the instances of a service must serve without a break where all of it has not served yet.
func (s UpdateSpec) FirstHealthy() time.Duration {
	u := s.Updates()
	if s.Update == nil || s.Update.MinHealthy == nil {
		return time.Duration(min(DefaultFirstHealthy, u.HealthyDeadline))
	}
	return time.Duration(*u.MinHealthy)
}

// WaveSize returns how many of the slots that wait the next wave has, after so many others.
func (u Update) WaveSize(after uint32, waiting int) int {
	switch {
	case u.Strategy != UpdateRolling:
		return waiting
	case u.Canaries > 0 && after == 0:
		return min(int(u.Canaries), waiting)
	}
	return min(int(u.Parallelism), waiting)
}

// Lasts returns how long a phase may take, or takes where its slots only wait; 0 where it waits for operators or nodes. The defaults must
// be written out.
func (u Update) Lasts(phase OperationPhase) time.Duration {
	lasts := operationPhases[phase].lasts
	if lasts == nil {
		return 0
	}
	return time.Duration(lasts(u))
}

// StartsFirst reports whether the next instance of a slot comes before the one before goes: as the spec says, unless the slot has one at a
// time, or there is one on a node at most.
func (s Spec) StartsFirst() bool {
	return s.Updates().Order == StartFirst && !s.Global() && s.Topology == nil && !s.KeepsVolumes() && !s.Exclusive
}

// BehindBarrier reports whether the next instances of all slots come before any of those before goes, or none does.
func (s Spec) BehindBarrier() bool { return s.Updates().Strategy == UpdateBarrier && s.StartsFirst() }

// AllAtOnce reports whether the instances before of all slots go before any comes.
func (s Spec) AllAtOnce() bool { return s.Updates().Strategy != UpdateRolling && !s.StartsFirst() }

// canonical leaves out what is the default as a whole, and otherwise writes the defaults out, but for min_healthy, which has two.
func (s UpdateSpec) canonical() UpdateSpec {
	u, standard := s.Updates(), Update{}.withDefaults()
	if s.Update == nil || s.Update.MinHealthy == nil {
		u.MinHealthy, standard.MinHealthy = nil, nil
	}
	if u == standard {
		return UpdateSpec{}
	}
	return UpdateSpec{&u}
}

func (s UpdateSpec) check() error {
	u := s.Updates()
	for _, word := range []struct {
		field, value string
		known        []string
	}{
		{"strategy", string(u.Strategy), []string{string(UpdateRolling), string(UpdateRecreate), string(UpdateBarrier)}},
		{"order", string(u.Order), []string{string(StartFirst), string(StopFirst)}},
		{"promote", string(u.Promote), []string{"", string(PromoteByCommand), string(PromoteBySelf)}},
		{"on_failure", string(u.OnFailure), []string{string(FailurePause), string(FailureContinue), string(FailureRollback)}},
	} {
		if !slices.Contains(word.known, word.value) {
			return Reject(CodeInvalidValue, "update."+word.field, "update.%s %s is not known: known are %s",
				word.field, quote(word.value), listed(slices.DeleteFunc(word.known, func(w string) bool { return w == "" })))
		}
	}
	if err := s.checkWaves(u); err != nil {
		return err
	}
	if err := s.checkStrategy(u); err != nil {
		return err
	}
	return u.checkTimes()
}

// checkWaves holds how many slots go together, and may fail, to their bounds.
func (s UpdateSpec) checkWaves(u Update) error {
	switch {
	case u.Parallelism > MaxScale:
		return Reject(CodeOutOfRange, "update.parallelism", "update.parallelism %d is more than %d", u.Parallelism, MaxScale)
	case u.Canaries > MaxScale:
		return Reject(CodeOutOfRange, "update.canaries", "update.canaries %d is more than %d", u.Canaries, MaxScale)
	case !(u.MaxFailureRatio >= 0 && u.MaxFailureRatio <= 1): // NaN is neither
		return Reject(CodeOutOfRange, "update.max_failure_ratio", "update.max_failure_ratio %g is not between 0 and 1", u.MaxFailureRatio)
	case u.Canaries == 0 && u.Promote != "":
		return Reject(CodeMissingField, "update.canaries", "update.canaries is missing: say how many there are to promote")
	}
	return nil
}

// checkStrategy holds the rest to what the strategy allows: all slots go together where it is not rolling.
func (s UpdateSpec) checkStrategy(u Update) error {
	switch {
	case u.Strategy == UpdateRolling:
	case u.Strategy == UpdateRecreate && u.Order == StartFirst:
		return Reject(CodeInvalidValue, "update.order", "update.order is start-first, and strategy recreate stops all first: leave it out")
	case u.Strategy == UpdateBarrier && u.Order == StopFirst:
		return Reject(CodeInvalidValue, "update.order", "update.order is stop-first, and strategy barrier starts all first: leave it out, or say recreate")
	case u.Canaries > 0:
		return Reject(CodeInvalidValue, "update.canaries", "update.canaries is %d, and strategy %s replaces all at once: leave it out", u.Canaries, u.Strategy)
	case s.Update.Parallelism > 0:
		return Reject(CodeInvalidValue, "update.parallelism", "update.parallelism is %d, and strategy %s replaces all at once: leave it out",
			s.Update.Parallelism, u.Strategy)
	case u.Strategy == UpdateBarrier && u.MaxFailureRatio > 0:
		return Reject(CodeInvalidValue, "update.max_failure_ratio",
			"update.max_failure_ratio is %g, and strategy barrier continues with all slots or with none: leave it out", u.MaxFailureRatio)
	case u.Strategy == UpdateBarrier && u.OnFailure == FailureContinue:
		return Reject(CodeInvalidValue, "update.on_failure", "update.on_failure is continue, and strategy barrier continues with all slots or with none: say pause or rollback")
	}
	return nil
}

func (u Update) checkTimes() error {
	for _, c := range []struct {
		field            string
		value, low, high Duration
	}{
		{"progress_deadline", u.ProgressDeadline, MinProgressDeadline, MaxUpdateTime},
		{"healthy_deadline", u.HealthyDeadline, MinProgressDeadline, u.ProgressDeadline},
		{"min_healthy", *u.MinHealthy, 0, u.HealthyDeadline},
		{"monitor", u.Monitor, 0, MaxUpdateTime},
		{"delay", u.Delay, 0, MaxUpdateTime},
	} {
		if err := checkBetween("update."+c.field, c.value, c.low, c.high); err != nil {
			return err
		}
	}
	return nil
}
