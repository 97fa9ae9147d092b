package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// PlanQuestion asks what a command would do: to a service, by its namespace and name, to a group, as demo/stack, to a node, or to the cluster
// where none of these is named.
type PlanQuestion struct {
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	Group     string         `json:"group,omitempty"`
	Node      string         `json:"node,omitempty"`
	Verb      string         `json:"verb"`
	Body      jsontext.Value `json:"body,omitzero"`
}

// subject is where the command would be published; "" where the question names more than one receiver, or half of one.
func (q PlanQuestion) subject() string {
	namespace, name, grouped := strings.Cut(q.Group, "/")
	switch one := q.Namespace + q.Name; {
	case q.Verb == "", (q.Namespace == "") != (q.Name == ""), grouped != (q.Group != ""):
	case one != "" && q.Group+q.Node == "":
		return events.CommandSubject(events.ServiceID{Namespace: q.Namespace, Name: q.Name}, q.Verb)
	case q.Group != "" && one+q.Node == "":
		return events.CommandRoot + ".group." + namespace + "." + name + "." + q.Verb
	case q.Node != "" && one+q.Group == "":
		return events.CommandRoot + ".node." + q.Node + "." + q.Verb
	case one+q.Group+q.Node == "":
		return events.CommandRoot + ".cluster." + q.Verb
	}
	return ""
}

// askPlan answers the question `plan`. The log is folded for it, so that the loop goes on meanwhile. It asks the loop for nothing but the place in the log that it is at, and for its time.
func (s *Server) askPlan(ctx context.Context, body []byte) ([]byte, error) {
	var q PlanQuestion
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || q.subject() == "" {
		return nil, &bus.QuestionError{
			Code: 400, Reason: `ask with {"namespace":"demo","name":"web","verb":"ensure","body":{"image":"localhost/web:2"}}, for a node with` +
				` {"node":"n1","verb":"drain","body":{}}, for a group with "group":"demo/stack", and with {"verb":"rebalance","body":{}} for the cluster`,
		}
	}
	return s.inTurn(ctx, s.plans, func(ctx context.Context) ([]byte, error) { return s.plan(ctx, q) })
}

func (s *Server) plan(ctx context.Context, q PlanQuestion) ([]byte, error) {
	var at uint64
	var now time.Time
	if err := s.State(ctx, func(c *projections.Cluster, _ bool) {
		at, now = c.Sequence, s.Now()
		if now.Before(c.Now) { // the clock of the leader before was ahead of this one's
			now = c.Now
		}
	}); err != nil {
		return nil, err
	}
	fold, reader, err := s.Folds.Begin(ctx, at)
	if err != nil {
		return nil, err
	}
	defer reader.Stop()
	if err := snapshots.To(ctx, fold, reader, at); err != nil {
		return nil, err
	}
	state := fold.Cluster
	if state.Recovering {
		return nil, &bus.QuestionError{Code: 503, Reason: "nodes are still to say what they have: ask again"}
	}
	m := events.Message{Subject: q.subject(), Body: q.Body}
	var running coordinator.Running
	if coordinator.NeedsRunning(m) {
		if running, err = s.running(ctx); err != nil {
			return nil, err
		}
	}
	if state.Accounts {
		m.Subject = events.CommandBy("anybody", m.Subject) // what a command leads to does not depend on its sender
	}
	plan := coordinator.PlanRequest(state, events.ParseRequest(m), running, now)
	if ns := within(ctx); ns != "" {
		plan = planWithin(plan, ns)
	}
	return json.Marshal(plan, json.Deterministic(true))
}

// planWithin leaves out of a plan the events of other namespaces, and of the cluster, that the round would have as well.
func planWithin(plan any, namespace string) any {
	others := func(event string) bool {
		return !strings.HasPrefix(event, "service "+namespace+"/") && !strings.HasPrefix(event, "group "+namespace+"/")
	}
	switch p := plan.(type) {
	case coordinator.Plan:
		p.Events = slices.DeleteFunc(p.Events, others)
		return p
	case coordinator.CommandPlan:
		p.Events = slices.DeleteFunc(p.Events, others)
		return p
	}
	return plan
}

// running asks the leader, which may be this coordinator, which programs take part.
func (s *Server) running(ctx context.Context) (running coordinator.Running, err error) {
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	m, err := s.Bus.Request(call, events.Message{Subject: events.RunningSubject, Header: events.Header{}})
	if err != nil {
		return running, &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("only the leader knows which programs run, and it does not answer: %v: ask again", err)}
	}
	if err := json.Unmarshal(m.Body, &running); err != nil {
		return running, &bus.QuestionError{Code: 503, Reason: fmt.Sprintf("read what the leader says of the programs that run: %v: ask again", err)}
	}
	return running, nil
}
