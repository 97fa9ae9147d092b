package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// rebalance moves instances to nodes that fit them better.
type rebalance struct {
	asking
	command           events.ClusterRebalance
	maxMoves, minGain uint32
}

func rebalanceCommand(l *link) *cobra.Command {
	r := &rebalance{asking: asking{link: l}}
	cmd := &cobra.Command{
		Use:   "rebalance",
		Short: "Move instances to better nodes, after showing a plan",
		Long: `Move instances to nodes with a better score, after showing a plan. The plan gives the gain of each move in points of the score. A
gain above 100 means that the coordinator would no longer place the instance on its node.

Instances move one at a time, and each runs until its successor serves. If a successor fails to serve, the moves end. Only healthy
services take part. Slots with named volumes take part only with --volumes.

On a terminal, rebalance asks before it carries out the plan; --yes skips the question. Without a terminal and --yes it moves
nothing, and exits with code 2 if the plan has moves, else 0. Ctrl-C ends the wait; the moves continue.

Exit codes: 0 moved, or nothing to move, 1 error, 2 wrong usage, 3 rejected, 4 a successor failed to serve,
5 superseded by another rebalancing, 6 --timeout passed, 130 Ctrl-C.`,
		Example: `  rookery rebalance
  rookery rebalance --max-moves 3 --min-gain 20 --yes
  rookery rebalance < /dev/null        the plan alone
The same with the nats CLI (the last command rebalances whenever an empty node joins):
  nats req rookery.api.plan '{"verb":"rebalance","body":{"max_moves":3,"min_gain":20}}'
  nats req rookery.cmd.cluster.rebalance '{"max_moves":3,"min_gain":20}'
  nats req rookery.cmd.cluster.rebalance '{"when":"node-joins"}'`,
		Args: arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd) },
	}
	r.flags(cmd)
	cmd.Flags().Uint32Var(&r.maxMoves, "max-moves", uint32(events.DefaultMaxMoves), "move at most this `many` instances")
	cmd.Flags().Uint32Var(&r.minGain, "min-gain", uint32(events.DefaultMinGain), "skip moves with a gain below this many `points` of 100")
	cmd.Flags().BoolVar(&r.command.Volumes, "volumes", false, "also move slots with named volumes; on the new node their volumes are empty")
	r.yesFlag(cmd)
	return cmd
}

// rebalanced is what rebalance prints as JSON or YAML: the plan, and its result if it was carried out.
type rebalanced struct {
	coordinator.RebalancePlan
	Ended *events.RebalanceEnded `json:"ended,omitempty"`
}

func (r *rebalance) run(cmd *cobra.Command) error {
	r.command.MaxMoves, r.command.MinGain = new(events.Moves(r.maxMoves)), new(events.Weight(r.minGain))
	body, err := json.Marshal(r.command, json.Deterministic(true))
	if err == nil {
		_, err = events.ParseClusterRebalance(body)
	}
	if err != nil {
		return usage(cmd, err)
	}
	b, done, err := r.link.open("rookery rebalance")
	if err != nil {
		return err
	}
	defer done()
	p, err := planMoves(cmd.Context(), b, body)
	if err != nil {
		return err
	}
	if !r.out.json() {
		err = p.print(cmd.OutOrStdout())
	}
	if err == nil && len(p.Moves) > 0 {
		err = r.carryOut(cmd, b, p)
	}
	if r.out.json() {
		return errors.Join(err, r.out.print(cmd.OutOrStdout(), p))
	}
	return err
}

// planMoves asks a coordinator for the plan of moves.
func planMoves(ctx context.Context, b *bus.JetStream, body []byte) (*rebalanced, error) {
	p := &rebalanced{}
	return p, askPast(ctx, b, "plan", api.PlanQuestion{Verb: events.ClusterRebalance{}.Kind().Name, Body: body}, &p.RebalancePlan)
}

func (p *rebalanced) print(w io.Writer) error {
	if len(p.Moves) == 0 {
		_, err := fmt.Fprintf(w, "At sequence %d of the log no move brings enough gain.\n", p.Sequence)
		return err
	}
	const points = 1000.0
	rows := make([]string, len(p.Moves))
	for i, m := range p.Moves {
		rows[i] = fmt.Sprintf("%s/%d\t%s\t%s\t%.1f", m.Service, m.Ordinal, m.From, m.To, float64(m.Gain)/points)
	}
	if _, err := fmt.Fprintf(w, "Plan at sequence %d of the log:\n", p.Sequence); err != nil {
		return err
	}
	return table(w, "INSTANCE\tFROM\tTO\tGAIN", rows)
}

// carryOut asks for confirmation, sends the command, and shows the moves until the last one.
func (r *rebalance) carryOut(cmd *cobra.Command, b *bus.JetStream, p *rebalanced) error {
	if r.dryRun {
		return errPending
	}
	if !r.yes {
		if err := agree(cmd, r.out, p.print); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), r.timeout, errTimeout)
	defer cancel()
	happens, err := b.Read(ctx, bus.Log, p.Sequence+1)
	if err != nil {
		return err
	}
	defer happens.Stop()
	m, err := commandMessage("cluster", r.command)
	if err != nil {
		return err
	}
	sequence, err := publishCommand(ctx, b, m)
	if err != nil {
		return err
	}
	shown := r.progress()
	defer shown.end()
	fmt.Fprintf(shown, "command %d is stored\n", sequence)
	shown.expect("rebalance", len(p.Moves))
	p.Ended, err = followMoves(ctx, shown, happens, sequence)
	if err != nil {
		return err
	}
	if p.Ended.Reason == events.RebalanceFailed {
		return &codedError{exitFailed, fmt.Errorf("%d moved, then %s; its predecessor continues to run", p.Ended.Moved, p.Ended.Message)}
	}
	shown.end()
	fmt.Fprintf(shown, "%d moved\n", p.Ended.Moved)
	return nil
}

// followMoves shows the moves until the command's rebalancing has ended.
func followMoves(ctx context.Context, shown *progress, happens bus.Reader, sequence uint64) (*events.RebalanceEnded, error) {
	slots := map[string]bool{}
	var rounds projections.Rounds
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTimeout) {
				return nil, &codedError{exitTimeout, fmt.Errorf("still in progress when --timeout passed; the moves continue: see `rookery events`")}
			}
			return nil, ctx.Err()
		case m, ok := <-happens.Messages():
			if !ok {
				return nil, errors.New("lost the subscription to the log; the moves continue: see `rookery events`")
			}
			closed, _ := rounds.Take(m)
			if ended, err := showMoves(shown, slots, closed, sequence); ended != nil || err != nil {
				return ended, err
			}
		}
	}
}

// showMoves shows what a round says of the slots that the command moves, and adds those that begin to. It returns the end of the command's
// rebalancing if the round has it.
func showMoves(shown *progress, slots map[string]bool, round []events.Message, sequence uint64) (*events.RebalanceEnded, error) {
	for _, m := range round {
		data, a, err := events.Decode(m)
		if err != nil {
			return nil, err
		}
		ended, err := endOfMoves(data, a.Cause.Correlation, sequence)
		if ended != nil || err != nil {
			return ended, err
		}
		ordinal, begins, follows := ofMove(data)
		slot := fmt.Sprintf("%s/%d", subjectWords(m.Subject), ordinal)
		slots[slot] = slots[slot] || (begins && a.Cause.Correlation == sequence)
		if follows && slots[slot] {
			shown.event(m, data, waves{}.describe(m, time.Now()))
		}
	}
	return nil, nil
}

// endOfMoves returns the end of the command's rebalancing, or an error if the command started none.
func endOfMoves(data events.Data, correlation, sequence uint64) (*events.RebalanceEnded, error) {
	switch d := data.(type) {
	case events.RebalanceEnded:
		if correlation == sequence {
			return &d, nil
		}
	case events.RebalanceStarted:
		if correlation > sequence {
			return nil, &codedError{exitSuperseded, fmt.Errorf("command %d was superseded by command %d", sequence, correlation)}
		}
	case events.CommandRejected:
		if d.Sequence == sequence {
			return nil, &codedError{exitRejected, fmt.Errorf("command %d was rejected (%s): %s", sequence, d.Code, d.Reason)}
		}
	}
	return nil, nil
}

// ofMove returns the slot of an event about an instance that may move, and whether it begins a move.
func ofMove(data events.Data) (ordinal uint32, begins, follows bool) {
	switch d := data.(type) {
	case events.InstancePlaced:
		return d.Ordinal, d.Replaces > 0, true
	case events.InstanceOnline:
		return d.Ordinal, false, true
	case events.InstanceRetired:
		return d.Ordinal, false, d.Reason == events.RetireMoved || d.Reason == events.RetireMoveFailed
	}
	return 0, false, false
}
