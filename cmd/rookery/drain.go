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
		Short: "Empty a node: show a plan, ask, and carry it out; or undo it",
		Long: `Empty a node. Each instance runs on until its successor on another node serves, as many of a service at a time as an
update replaces, and also where there is one instance alone. What cannot be in two places stops first: slots of a topology
and exclusive ones one at a time; slots with named volumes and instances of global services last, once all else is gone. Jobs are waited
for. At the deadline all that is left stops, and comes up elsewhere where it can. The node takes nothing until --undo.

On a terminal you are asked before anything is done. Without one nothing is done and the exit code is 2; --yes goes on
without asking. Ctrl-C ends the wait; the drain goes on.

` + exitCodes,
		Example: `  rookery drain node-0
  rookery drain node-0 --deadline 30m --yes
  rookery drain node-0 --undo          what has moved stays where it is
The same with the nats CLI, and to have a node take nothing and keep what it has:
  nats req rookery.api.plan '{"node":"node-0","verb":"drain","body":{"deadline":"30m"}}'
  nats req rookery.cmd.node.node-0.drain '{"deadline":"30m"}'
  nats req rookery.cmd.node.node-0.resume '{}'
  nats req rookery.cmd.node.node-0.pause '{}'`,
		Args: arguments("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error { return d.run(cmd, args[0]) },
	}
	d.flags(cmd)
	cmd.Flags().DurationVar(&d.deadline, "deadline", time.Duration(events.DefaultDrainDeadline), "have what is left stop after this `time`")
	cmd.Flags().BoolVar(&d.undo, "undo", false, "have the node take instances again; a drain that goes on ends")
	d.yesFlag(cmd)
	return cmd
}

func forgetCommand(l *link) *cobra.Command {
	a := &asking{link: l}
	cmd := &cobra.Command{
		Use:   "forget NODE",
		Short: "Forget a node that is gone for good",
		Long: `Forget a node that is gone for good: it must be silent. Its instances come up elsewhere, with new volumes: empty, or filled from
the snapshot that their service was resumed from where they had not run since. Should the machine come back, it joins as a
new node, and what it still runs is stopped.

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

// askNode is ask for a command to a node.
func (a *asking) askNode(cmd *cobra.Command, node string, command events.Data) error {
	if !events.ValidName(node) {
		return usage(cmd, fmt.Errorf("%q is no name of a node", node))
	}
	return a.publish(cmd, "node."+node, nil, command)
}

// drained is what is printed: the plan, and how the command ended, where it was given.
type drained struct {
	coordinator.DrainPlan
	Fate *api.Fate `json:"fate,omitempty"`
}

func (d *drain) run(cmd *cobra.Command, node string) error {
	if d.undo && cmd.Flags().Changed("deadline") {
		return usage(cmd, errors.New("--undo takes no --deadline: what has moved stays where it is"))
	}
	const beyond = 5 * time.Minute // what is left at the deadline has its grace, and the command two minutes
	if !cmd.Flags().Changed("timeout") {
		d.timeout = max(d.timeout, d.deadline+beyond)
	}
	if d.undo {
		return d.askNode(cmd, node, events.NodeResume{})
	}
	if !events.ValidName(node) {
		return usage(cmd, fmt.Errorf("%q is no name of a node", node))
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
		err = errPending // a node without instances is drained all the same
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

// planDrain asks a coordinator for the plan.
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
		_, err := fmt.Fprintf(w, "At sequence %d of the log node %s has nothing that would go.\n", p.Sequence, p.Node)
		return err
	}
	rows := make([]string, len(p.Instances))
	for i, d := range p.Instances {
		when := "now"
		if d.AtDeadline {
			when = "at the deadline"
		}
		rows[i] = fmt.Sprintf("%s/%d\t%s\t%s\t%s\t%s", d.Service, d.Ordinal, d.Action, when, d.To, d.Reason)
	}
	if _, err := fmt.Fprintf(w, "Plan at sequence %d of the log for node %s:\n", p.Sequence, p.Node); err != nil {
		return err
	}
	return table(w, "INSTANCE\tACTION\tSTOPS\tTO\tWHY", rows)
}

// carryOut gives the command and shows what becomes of each instance until it has ended.
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
	w := &waiter{bus: b, progress: d.progress(), scope: "node." + p.Node, waves: waves{}}
	seen, err := w.publish(ctx, m)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.progress(), "command %d is stored\n", w.sequence)
	showing, end := context.WithCancel(ctx)
	var shows sync.WaitGroup
	shows.Go(func() { showDrain(showing, d.progress(), happens, p) })
	defer func() {
		end()
		shows.Wait()
	}()
	fate, err := w.follow(ctx, seen)
	if err != nil {
		if cmd.Context().Err() != nil {
			fmt.Fprintf(d.progress(), "the drain of node %s goes on: rookery drain %s --undo takes it back\n", p.Node, p.Node)
		}
		return err
	}
	p.Fate = &fate
	if fate.Outcome == projections.Succeeded {
		fmt.Fprintf(d.progress(), "node %s is drained\n", p.Node)
	}
	return outcome(fate)
}

// showDrain prints a line for what becomes of each instance of the plan, until ctx or the reading ends.
func showDrain(ctx context.Context, w io.Writer, happens bus.Reader, p *drained) {
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
				continue // it is of a later version
			}
			if ordinal, follows := ofDrain(data); follows && slots[fmt.Sprintf("%s/%d", subjectWords(m.Subject), ordinal)] {
				fmt.Fprintln(w, waves{}.describe(m))
			}
		}
	}
}

// ofDrain returns the slot of an event that says what becomes of an instance.
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
