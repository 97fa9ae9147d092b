package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// eventSelection says which events are printed, beside those of a scope.
type eventSelection struct {
	since, from, node, namespace, actor string
	types                               []string
}

func (s *eventSelection) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.since, "since", "", "begin at this `time`, as 2026-11-01T12:00Z, or so long ago, as 10m")
	f.StringVar(&s.from, "from", "", "begin at this `sequence` of the log")
	f.StringSliceVar(&s.types, "type", nil, "print events of this `type` alone, as instance.lost, or instance for all of them; may be given several times")
	f.StringVar(&s.node, "node", "", "print events about this `node` alone, and about instances on it")
	f.StringVar(&s.actor, "actor", "", "print events that commands of this `user` led to alone")
	f.StringVarP(&s.namespace, "namespace", "n", "", "print events of this `namespace` alone")
}

// check reads the flags, and narrows the scope to the namespace.
func (s *eventSelection) check(cmd *cobra.Command, of *within) error {
	switch {
	case s.since != "" && s.from != "":
		return usage(cmd, errors.New("--since and --from both say where to begin: give one"))
	case s.namespace != "" && of.namespace != "":
		return usage(cmd, fmt.Errorf("--namespace %s and %s both say what to print: give one", s.namespace, of.namespace))
	case s.namespace != "" && !events.ValidName(s.namespace):
		return usage(cmd, fmt.Errorf("--namespace %q is not a namespace: use a-z, 0-9 and \"-\"", s.namespace))
	case s.namespace != "":
		of.namespace = s.namespace
	}
	known := map[string]bool{}
	for _, sample := range events.Samples() {
		k := sample.Kind()
		known[k.Thing], known[k.Word()] = true, true
	}
	for _, t := range s.types {
		if !known[t] {
			return usage(cmd, fmt.Errorf("--type %q is not an event: write it as instance.lost, or instance", t))
		}
	}
	at, err := parsePlace(s.since+s.from, time.Now())
	if err == nil && s.since != "" && at.sequence > 0 {
		err = fmt.Errorf("--since %s is not a time: want 2026-11-01T12:00Z, or 10m for ten minutes ago; a sequence of the log goes to --from", s.since)
	}
	if err != nil {
		return usage(cmd, err)
	}
	return nil
}

// begins returns the sequence of the first event that may be printed; 0 for the first of the log.
func (s *eventSelection) begins(ctx context.Context, b *bus.JetStream) (uint64, error) {
	at, err := parsePlace(s.since+s.from, time.Now())
	if err != nil || at == (place{}) {
		return 0, err
	}
	sequence, err := at.find(ctx, b)
	if s.since != "" && bus.CodeOf(err) == 404 { // all that the log has is later
		return 0, nil
	}
	return sequence, err
}

// has reports whether the event is of one of the types, about the node, and due to the user.
func (s *eventSelection) has(m events.Message) bool {
	if s.actor != "" && events.ActorOf(m) != s.actor {
		return false
	}
	kind, _ := events.ParseKind(m.Header.Get("ce-type"))
	if len(s.types) > 0 && !slices.Contains(s.types, kind.Thing) && !slices.Contains(s.types, kind.Word()) {
		return false
	}
	if s.node == "" || strings.HasPrefix(m.Subject, events.LogRoot+".node."+s.node+".") {
		return true
	}
	var about struct {
		Node string `json:"node"`
	}
	return json.Unmarshal(m.Body, &about) == nil && about.Node == s.node
}
