package coordinator

import (
	"math"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// RebalancePlan is what a rebalancing would do.
type RebalancePlan struct {
	// Sequence is the sequence of the log at which the plan was made.
	Sequence uint64        `json:"sequence"`
	Moves    []PlannedMove `json:"moves"`
}

// CommandPlan is what a command would do at once, for commands without a plan of their own that looks further ahead.
type CommandPlan struct {
	// Sequence is the sequence of the log at which the plan was made.
	Sequence uint64 `json:"sequence"`
	// Rejection says why the coordinator would reject the command; nil if it would accept it.
	Rejection *events.Rejection `json:"rejection,omitempty"`
	// Events are those of the round that would decide the command: what each is about, and its name, as in "node n1.paused".
	Events []string `json:"events,omitempty"`
}

// PlanRequest returns what a command would do if it came now: a Plan for a command to a service, a DrainPlan or a RebalancePlan
// for these, and a CommandPlan for every other. The programs that take part count only where NeedsRunning says so. It changes the
// state on the way, so the caller must not use that state afterwards.
func PlanRequest(c *projections.Cluster, r events.Request, running Running, now time.Time) any {
	if _, service := r.Scope.Service(); service {
		return PlanCommand(c, r, now)
	}
	if r.Rejection == nil {
		switch command := r.Command.(type) {
		case events.NodeDrain:
			return PlanDrain(c, r, now)
		case events.ClusterRebalance:
			if command.When == events.RebalanceNow {
				return RebalancePlan{c.Sequence, PlanRebalance(c, command.Terms(), now)}
			}
		}
	}
	return planAtOnce(c, r, running, now)
}

func planAtOnce(c *projections.Cluster, r events.Request, running Running, now time.Time) CommandPlan {
	plan := CommandPlan{Sequence: c.Sequence, Rejection: r.Rejection}
	if plan.Rejection != nil {
		return plan
	}
	r.Sequence = math.MaxUint64 // no command has this sequence
	ahead := rehearsal{c, NewWorkQueue(c), now}
	for _, e := range ahead.round(func(t *Turn) {
		t.Running = running
		t.Command(r)
	}) {
		if d, rejected := e.Data.(events.CommandRejected); rejected && d.Sequence == r.Sequence {
			return CommandPlan{Sequence: plan.Sequence, Rejection: &d.Rejection}
		}
		plan.Events = append(plan.Events, eventName(e))
	}
	return plan
}

// eventName is what the event is about and its name, as in "node n1.paused".
func eventName(e events.Record) string { return e.Scope.String() + "." + e.Data.Kind().Name }
