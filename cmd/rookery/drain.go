package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// drain empties a node.
type drain struct {
	asking
	deadline time.Duration
	undo     bool
}

func drainCommand(l *link) *cobra.Command {
	d := &drain{asking: asking{link: l}}
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Move all instances off a node, after showing a plan",
		Long: `Move all instances off a node, after showing a plan. An instance runs until its successor on another node serves, even if it is the
only one of its service. At a time, as many instances of a service move as in an update. The node gets no instances until --undo.

Instances that cannot run in two places stop before their successors start: slots of a topology and exclusive slots, one at a time.
Slots with named volumes and instances of global services stop last, when all others have left. Jobs run to their end. At the
deadline all remaining instances stop, and Rookery starts them on other nodes if it can.

On a terminal, drain asks before it carries out the plan; --yes skips the question. Without a terminal and --yes it changes nothing,
and exits with code 2. Ctrl-C ends the wait; the drain continues.

` + exitCodes,
		Example: `  rookery drain node-0
  rookery drain node-0 --deadline 30m --yes
  rookery drain node-0 --undo          moved instances stay where they are
The same with the nats CLI (pause keeps the node's instances and adds none):
  nats req rookery.api.plan '{"node":"node-0","verb":"drain","body":{"deadline":"30m"}}'
  nats req rookery.cmd.node.node-0.drain '{"deadline":"30m"}'
  nats req rookery.cmd.node.node-0.resume '{}'
  nats req rookery.cmd.node.node-0.pause '{}'`,
		Args: arguments("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, args[0]) },
	}
	d.flags(cmd)
	cmd.Flags().DurationVar(&d.deadline, "deadline", time.Duration(events.DefaultDrainDeadline), "stop the remaining instances after this `time`")
	cmd.Flags().BoolVar(&d.undo, "undo", false, "let the node take instances again, and end a drain in progress")
	d.yesFlag(cmd)
	return cmd
}

func forgetCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := &cobra.Command{
		Use:   "forget NODE",
		Short: "Forget a node that is gone for good",
		Long: `Forget a node that is gone for good. The node must be silent. Rookery starts its instances on other nodes, with new, empty
volumes. If a service was resumed from a snapshot and an instance has not run since, its volumes are filled from that snapshot. If
the machine returns, it joins as a new node and stops the instances that it still runs.

` + exitCodes,
		Example: `  rookery forget node-0
The same with the nats CLI:
  nats req rookery.cmd.node.node-0.forget '{}'`,
		Args: arguments("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.confirm(cmd, fmt.Sprintf("Forget %s, with the volumes of its instances?", args[0])); err != nil {
				return err
			}
			return a.askNode(cmd, args[0], events.NodeForget{})
		},
	}
	a.flags(cmd)
	a.yesFlag(cmd)
	return cmd
}

// askNode publishes a command to a node, as ask does for a service.
func (a *asking) askNode(cmd *cobra.Command, node string, command events.Data) error {
	if !events.ValidName(node) {
		return usage(cmd, fmt.Errorf("%q is not a node name: want 1 to 63 of a-z, 0-9 and \"-\"", node))
	}
	return a.publish(cmd, "node."+node, nil, command)
}

// drained is what drain prints as JSON or YAML: the plan, and the outcome of the command if drain sent it.
type drained struct {
	coordinator.DrainPlan
	Outcome *api.Command `json:"fate,omitempty"`
}

func (d *drain) run(cmd *cobra.Command, node string) error {
	if d.undo && cmd.Flags().Changed("deadline") {
		return usage(cmd, errors.New("--undo takes no --deadline: moved instances stay where they are"))
	}
	const beyond = 5 * time.Minute // for the instances' stop grace at the deadline, and the command's two minutes
	if !cmd.Flags().Changed("timeout") {
		d.timeout = max(d.timeout, d.deadline+beyond)
	}
	if d.undo {
		return d.askNode(cmd, node, events.NodeResume{})
	}
	if !events.ValidName(node) {
		return usage(cmd, fmt.Errorf("%q is not a node name: want 1 to 63 of a-z, 0-9 and \"-\"", node))
	}
	command := events.NodeDrain{Deadline: events.Duration(d.deadline)}
	body, err := json.Marshal(command, json.Deterministic(true))
	if err == nil {
		_, err = events.ParseNodeDrain(body)
	}
	if err != nil {
		return usage(cmd, err)
	}
	b, done, err := d.link.open("rookery drain")
	if err != nil {
		return err
	}
	defer done()
	p, err := planDrain(cmd.Context(), b, node, body)
	if err != nil {
		return err
	}
	if !d.out.json() {
		err = p.print(cmd.OutOrStdout())
	}
	if err == nil && d.dryRun {
		err = errPending // the drain of an empty node is a change too
	}
	if err == nil && !d.yes {
		err = agree(cmd, d.out, p.print)
	}
	if err == nil {
		err = d.carryOut(cmd, b, p, command)
	}
	if d.out.json() {
		return errors.Join(err, d.out.print(cmd.OutOrStdout(), p))
	}
	return err
}

// planDrain asks a coordinator for the plan of a drain.
func planDrain(ctx context.Context, b *bus.JetStream, node string, body []byte) (*drained, error) {
	p := &drained{}
	q := api.PlanQuestion{Node: node, Verb: events.NodeDrain{}.Kind().Name, Body: body}
	if err := askPast(ctx, b, "plan", q, &p.DrainPlan); err != nil {
		return nil, err
	}
	if p.Rejection != nil {
		return nil, &codedError{exitRejected, p.Rejection}
	}
	return p, nil
}

func (p *drained) print(w io.Writer) error {
	if len(p.Instances) == 0 {
		_, err := fmt.Fprintf(w, "At sequence %d of the log node %s has no instances to move.\n", p.Sequence, p.Node)
		return err
	}
	rows := make([]string, len(p.Instances))
	for i, d := range p.Instances {
		when := "now"
		switch {
		case d.AtDeadline:
			when = "at the deadline"
		case d.Action == coordinator.DrainMove:
			when = "after its successor serves"
		}
		rows[i] = fmt.Sprintf("%s/%d\t%s\t%s\t%s\t%s", d.Service, d.Ordinal, d.Action, when, d.To, d.Reason)
	}
	if _, err := fmt.Fprintf(w, "Plan at sequence %d of the log for node %s:\n", p.Sequence, p.Node); err != nil {
		return err
	}
	return table(w, "INSTANCE\tACTION\tSTOPS\tTO\tWHY", rows)
}

// carryOut sends the command and shows what happens to each instance until the command ends.
func (d *drain) carryOut(cmd *cobra.Command, b *bus.JetStream, p *drained, command events.NodeDrain) error {
	m, err := commandMessage("node."+p.Node, command)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), d.timeout, errTimeout)
	defer cancel()
	happens, err := b.Read(ctx, bus.Log, p.Sequence+1)
	if err != nil {
		return err
	}
	defer happens.Stop()
	shown := d.progress()
	defer shown.end()
	w := &waiter{bus: b, progress: shown, scope: "node." + p.Node, waves: waves{}}
	seen, err := w.publish(ctx, m)
	if err != nil {
		return err
	}
	fmt.Fprintf(shown, "command %d is stored\n", w.sequence)
	showing, end := context.WithCancel(ctx)
	var shows sync.WaitGroup
	shown.expect(p.Node, len(p.Instances))
	shows.Go(func() { showDrain(showing, shown, happens, p) })
	defer func() {
		end()
		shows.Wait()
	}()
	outcome, err := w.follow(ctx, seen)
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintf(shown, "the drain of node %s continues: rookery drain %s --undo ends it\n", p.Node, p.Node)
		}
		return err
	}
	p.Outcome = &outcome
	if outcome.Outcome == projections.Succeeded {
		fmt.Fprintf(shown, "node %s is drained\n", p.Node)
	}
	return failureOf(outcome)
}

// showDrain shows each event of the plan's instances, until ctx or the subscription ends.
func showDrain(ctx context.Context, progress *progress, happens bus.Reader, p *drained) {
	slots := map[string]bool{}
	for _, d := range p.Instances {
		slots[fmt.Sprintf("%s/%d", d.Service, d.Ordinal)] = true
	}
	var rounds projections.Rounds
	for {
		var closed []events.Message
		select {
		case <-ctx.Done():
			return
		case m, ok := <-happens.Messages():
			if !ok {
				return
			}
			closed, _ = rounds.Take(m)
		}
		for _, m := range closed {
			data, _, err := events.Decode(m)
			if err != nil {
				continue // a later version wrote it
			}
			if ordinal, follows := ofDrain(data); follows && slots[fmt.Sprintf("%s/%d", subjectWords(m.Subject), ordinal)] {
				progress.event(m, data, waves{}.describe(m, time.Now()))
			}
		}
	}
}

// ofDrain returns the slot of an event about an instance.
func ofDrain(data events.Data) (ordinal uint32, follows bool) {
	switch d := data.(type) {
	case events.InstancePlaced:
		return d.Ordinal, true
	case events.InstanceOnline:
		return d.Ordinal, true
	case events.InstanceRetired:
		return d.Ordinal, true
	case events.InstanceRemoved:
		return d.Ordinal, true
	case events.InstancePending:
		return d.Ordinal, true
	}
	return 0, false
}
