package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// policyStep is what a plan does with the policy of the cluster, and the result.
type policyStep struct {
	// Action is change, or unchanged if the cluster has this policy already.
	Action action `json:"action"`
	// Fields are the fields that the command changes.
	Fields []difference `json:"fields,omitempty"`
	// Command is the sequence of the command; 0 if apply published none.
	Command uint64 `json:"command,omitzero"`
	// Outcome is that of the command; nil without a command, or while it runs.
	Outcome *api.Command `json:"outcome,omitzero"`

	ask events.ClusterPolicy
}

// takePolicy reads a document of the policy.
func (w *wish) takePolicy(d document) (err error) {
	const name = "cluster"
	switch {
	case d.name != name:
		return fmt.Errorf("it is the policy %s, but a cluster has one policy: write name: %s", d.name, name)
	case w.policy != nil:
		return errors.New("an earlier document is the policy too: keep one of them")
	}
	w.policy = new(events.ClusterPolicy)
	*w.policy, err = events.ParseClusterPolicy(d.body)
	return err
}

// addPolicy adds the wanted policy to the plan.
func (p *plan) addPolicy(ctx context.Context, b *bus.JetStream, wanted *events.ClusterPolicy) error {
	if wanted == nil {
		return nil
	}
	before, err := policyInForce(ctx, b)
	if err != nil {
		return err
	}
	p.Policy = &policyStep{Action: actionUnchanged, ask: *wanted}
	if p.Policy.Fields, err = differences(before, wanted.Policy().WithDefaults()); len(p.Policy.Fields) > 0 {
		p.Policy.Action = actionChange
	}
	return err
}

func (s *policyStep) changes() bool { return s != nil && s.Action == actionChange }

func (s *policyStep) print(out io.Writer) {
	if s == nil {
		return
	}
	const below = 4
	fmt.Fprintln(out, "policy of the cluster: "+string(s.Action))
	for _, f := range s.Fields {
		folded(out, "  "+f.String(), below)
	}
}

// carryOut sets the policy and waits for the outcome.
func (s *policyStep) carryOut(ctx context.Context, b *bus.JetStream, progress *progress) error {
	if !s.changes() {
		return nil
	}
	w := &waiter{bus: b, progress: progress, scope: "cluster", waves: waves{}}
	m, err := commandMessage(w.scope, s.ask)
	if err != nil {
		return err
	}
	outcome, err := w.run(ctx, m)
	s.Command = w.sequence
	if err != nil {
		return fmt.Errorf("the policy: %w", err)
	}
	s.Outcome = &outcome
	if err := failureOf(outcome); err != nil {
		return fmt.Errorf("the policy: %w", err)
	}
	w.succeeded(ctx, "policy")
	return nil
}
