package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/coordinator/placement"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

func explainCommand(l *link) *cobra.Command {
	var out output
	var sequence uint64
	cmd := &cobra.Command{
		Use:   "explain NAMESPACE/NAME[/ORDINAL]",
		Short: "Say why an instance is on its node, or why none can have it: every node, every filter, every term",
		Long: `Say why the service's last instance was placed where it is, or why it waits. The decision is made once more from the
log as it was then: every node is shown with the terms of its score, or the filter that removed it.`,
		Example: `  rookery explain demo/web
  rookery explain demo/web/2
  rookery explain demo/web --sequence 4711     the decision at this sequence of the log
The same in short with the nats CLI:
  nats stream get ROOKERY_LOG -S rookery.log.service.demo.web.instance.placed`,
		Args: cobra.ExactArgs(1),
	}
	out.flag(cmd)
	cmd.Flags().Uint64Var(&sequence, "sequence", 0, "explain the decision at this `sequence` of the log")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := parseWanted(args[0], sequence)
		if err != nil {
			return usage(cmd, err)
		}
		b, done, err := l.open("rookery explain")
		if err != nil {
			return err
		}
		defer done()
		x, err := explainDecision(cmd.Context(), b, w)
		if err != nil {
			return err
		}
		if out.json() {
			return out.print(cmd.OutOrStdout(), x)
		}
		return x.print(cmd.OutOrStdout())
	}
	return cmd
}

// wanted says which decision is to be explained.
type wanted struct {
	service  events.ServiceID
	ordinal  int    // -1 for any
	sequence uint64 // 0 for the last
}

func parseWanted(text string, sequence uint64) (wanted, error) {
	w := wanted{ordinal: -1, sequence: sequence}
	parts := strings.SplitN(text, "/", 3)
	if len(parts) == 3 {
		n, err := strconv.ParseUint(parts[2], 10, 32)
		if err != nil {
			return w, fmt.Errorf("%q is no ordinal: write demo/web/2", parts[2])
		}
		w.ordinal, text = int(n), parts[0]+"/"+parts[1]
	}
	id, err := events.ParseServiceID(text)
	w.service = id
	return w, err
}

// decides reports whether the record is a decision on a node that is looked for, and of which ordinal.
func (w wanted) decides(r events.Record) (ordinal uint32, ok bool) {
	if id, _ := r.Scope.Service(); id != w.service || (w.sequence > 0 && r.Sequence != w.sequence) {
		return 0, false
	}
	switch d := r.Data.(type) {
	case events.InstancePlaced:
		ordinal, ok = d.Ordinal, true
	case events.InstancePending:
		ordinal, ok = d.Ordinal, true
	}
	return ordinal, ok && (w.ordinal < 0 || ordinal == uint32(w.ordinal))
}

// decisionExplained is a decision, made once more.
type decisionExplained struct {
	Service  string    `json:"service"`
	Ordinal  uint32    `json:"ordinal"`
	Sequence uint64    `json:"sequence"`
	Time     time.Time `json:"time"`
	// Node is the one that was chosen, "" where none could have it.
	Node  string              `json:"node,omitempty"`
	Nodes []placement.Verdict `json:"nodes"`
	// Holds is the node that is held for the instance since then, "" for none. Hold is the one that was held for another
	// service.
	Holds string         `json:"holds,omitempty"`
	Hold  *holdExplained `json:"hold,omitzero"`
}

// holdExplained is a node that a service has held for it.
type holdExplained struct {
	Node    string `json:"node"`
	Service string `json:"service"`
	// Since is when the service began to wait.
	Since time.Time `json:"since"`
}

func explainDecision(ctx context.Context, b bus.Bus, w wanted) (decisionExplained, error) {
	var found *events.Record
	if err := eachOfLog(ctx, b, 1, func(m events.Message) (bool, error) {
		if !strings.HasPrefix(m.Subject, events.LogRoot+".service."+w.service.Namespace+"."+w.service.Name+".instance.p") {
			return true, nil
		}
		r, err := events.ParseRecord(m)
		if _, ok := w.decides(r); err == nil && ok {
			found = &r
		}
		return true, err
	}); err != nil {
		return decisionExplained{}, err
	}
	if found == nil {
		return decisionExplained{}, fmt.Errorf("the log has no decision on a node for %s that fits: see `rookery events %s`", w.service, w.service)
	}
	c, err := before(ctx, b, found.Sequence)
	if err != nil {
		return decisionExplained{}, err
	}
	ordinal, _ := w.decides(*found)
	x := decisionExplained{Service: w.service.String(), Ordinal: ordinal, Sequence: found.Sequence, Time: found.Time}
	board := placement.NewBoard(c)
	board.At(found.Time)
	d, placed := found.Data.(events.InstancePlaced)
	s, before := c.Services[w.service], c.Instance(events.InstanceID{Service: w.service, Ordinal: ordinal, Generation: d.Replaces})
	switch x.Node = d.Node; {
	case !placed || d.Replaces == 0:
		x.Nodes = board.Verdicts(s, ordinal)
	case s.Operation != nil:
		x.Nodes = board.VerdictsBeside(s, before)
	default:
		x.Nodes = board.VerdictsWithout(s, before)
	}
	x.explainHold(c, w.service)
	if p, waits := found.Data.(events.InstancePending); waits && p.Holds != "" {
		x.Holds = p.Holds
		if again := board.Choose(c.Services[w.service], ordinal).Pending; again != nil && again.Holds != p.Holds {
			return x, x.differs(p.Holds, again.Holds)
		}
	}
	return x, x.check()
}

// explainHold says which node was held for another service, where one was.
func (x *decisionExplained) explainHold(c *projections.Cluster, id events.ServiceID) {
	if h := c.Held(); h.Service != nil && h.Service.ID != id {
		x.Hold = &holdExplained{Node: h.Node, Service: h.Service.ID.String(), Since: h.Service.WaitsSince}
	}
}

// check holds what was decided to be what is decided once more.
func (x decisionExplained) check() error {
	first := ""
	if len(x.Nodes) > 0 && x.Nodes[0].Removed == "" {
		first = x.Nodes[0].Node
	}
	if first != x.Node {
		return x.differs(x.Node, first)
	}
	return nil
}

func (x decisionExplained) differs(logged, again string) error {
	return fmt.Errorf("at sequence %d the log has node %q, and decided once more it is %q: another version of the policy decided it",
		x.Sequence, logged, again)
}

// before returns the state in which the event at this sequence was decided.
func before(ctx context.Context, b bus.Bus, sequence uint64) (*projections.Cluster, error) {
	f := projections.NewFold()
	var open []events.Record
	err := eachOfLog(ctx, b, 1, func(m events.Message) (bool, error) {
		if m.Sequence >= sequence {
			return false, nil
		}
		records, err := f.Take(m)
		if err != nil || records != nil {
			open = nil
			return true, err
		}
		r, err := events.ParseRecord(m)
		open = append(open, r)
		return true, err
	})
	for _, r := range open { // decided before it in the same round
		if err == nil {
			err = f.Cluster.Apply(r)
		}
	}
	return f.Cluster, err
}

// eachOfLog gives every message of the log from the sequence on, up to its present end, to take, until that reports false.
func eachOfLog(ctx context.Context, b bus.Bus, from uint64, take func(events.Message) (bool, error)) error {
	call, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	state, err := b.State(call, bus.Log)
	if err != nil {
		return err
	}
	if state.Last < from {
		return nil
	}
	reader, err := b.Read(ctx, bus.Log, from)
	if err != nil {
		return err
	}
	defer reader.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m, ok := <-reader.Messages():
			if !ok {
				return errors.New("the log cannot be read any more")
			}
			if more, err := take(m); err != nil || !more || m.Sequence >= state.Last {
				return err
			}
		}
	}
}

// print tells people.
func (x decisionExplained) print(w io.Writer) error {
	what := "waits: no node can have it"
	switch {
	case x.Node != "":
		what = "is on " + x.Node
	case x.Holds != "":
		what += ", and " + x.Holds + " is held for it"
	}
	if _, err := fmt.Fprintf(w, "%s/%d %s (sequence %d, %s)\n", x.Service, x.Ordinal, what, x.Sequence, x.Time.Format(time.RFC3339)); err != nil {
		return err
	}
	if h := x.Hold; h != nil {
		if _, err := fmt.Fprintf(w, "%s was held for %s, which waited since %s\n", h.Node, h.Service, h.Since.Format(time.RFC3339)); err != nil {
			return err
		}
	}
	const points = 1000.0
	rows := make([]string, len(x.Nodes))
	for i, v := range x.Nodes {
		if v.Removed != "" {
			rows[i] = fmt.Sprintf("%s\tremoved by %s\t\t\t\t\t\t", v.Node, v.Removed)
			continue
		}
		t := v.Terms
		rows[i] = fmt.Sprintf("%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", v.Node, float64(v.Score)/points, float64(t.Profile)/points,
			float64(t.AntiAffinity)/points, float64(t.Zone)/points, float64(t.SameZone)/points, float64(t.Spread)/points,
			float64(t.Failures)/points)
	}
	return table(w, "NODE\tSCORE\tPROFILE\tANTI-AFFINITY\tZONE\tSAME ZONE\tSPREAD\tFAILURES", rows)
}
