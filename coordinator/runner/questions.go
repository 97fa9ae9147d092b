package runner

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// askTimeout bounds how long a question or a heartbeat waits for the loop.
const askTimeout = 4 * time.Second

var errBusy = errors.New("the coordinator did not come to it in time")

// ask is something that only the goroutine of the loop can answer: it alone may read the state.
type ask struct {
	node   string // of a heartbeat
	beat   events.Heartbeat
	answer func(*Coordinator)
}

// put hands the ask to the loop and waits until it is answered, or refused because the state is not that of the log.
func (c *Coordinator) put(ctx context.Context, node string, beat events.Heartbeat, answer func(*Coordinator)) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	done := make(chan struct{})
	settled := false
	a := ask{node: node, beat: beat, answer: func(c *Coordinator) {
		defer close(done)
		if settled = c.settled; settled {
			answer(c)
		}
	}}
	select {
	case c.asks <- a:
		<-done
		if !settled {
			return &bus.QuestionError{Code: 503, Reason: "the coordinator is folding the log: ask again"}
		}
		return nil
	case <-ctx.Done():
		return errBusy
	}
}

// ClusterState is the answer to the question `state`.
type ClusterState struct {
	Log      string `json:"log"`
	Sequence uint64 `json:"sequence"`
	Round    uint64 `json:"round"`
	Epoch    uint64 `json:"epoch"`
	Leader   string `json:"leader"`
	// Hash is the canonical hash of the whole state at Sequence.
	Hash     string    `json:"hash"`
	Now      time.Time `json:"now"`
	Services int       `json:"services"`
	Nodes    int       `json:"nodes"`
	// Open counts the commands that have not ended.
	Open int `json:"open"`
	// Shunned says what the coordinator leaves alone because of a defect of its own, mostShunnedTold at most.
	Shunned []string `json:"shunned,omitempty"`
	// Answered is the name of the coordinator that answers; it may stand by.
	Answered string `json:"answered_by"`
	Leading  bool   `json:"leading"`
}

// Shape is how a question is asked and answered: a value of each type. An answer is of one of the types.
type Shape struct {
	Question any
	Answers  []any
}

// question is one of those that a coordinator answers.
type question struct {
	answer func(*Coordinator, context.Context, []byte) ([]byte, error)
	shape  Shape
}

// questions are all, by their names below rookery.api.
var questions = map[string]question{
	"actual":          {(*Coordinator).askActual, Shape{ActualQuestion{}, []any{Actual{}}}},
	"addresses":       {(*Coordinator).askAddresses, Shape{AddressesQuestion{}, []any{Addresses{}}}},
	"command":         {(*Coordinator).askCommand, Shape{CommandQuestion{}, []any{Fate{}}}},
	"diff":            {(*Coordinator).askDiff, Shape{DiffQuestion{}, []any{Diff{}}}},
	"explain":         {(*Coordinator).askExplain, Shape{ExplainQuestion{}, []any{coordinator.Explanation{}}}},
	"history":         {(*Coordinator).askHistory, Shape{HistoryQuestion{}, []any{History{}}}},
	"exec":            {(*Coordinator).askExec, Shape{InstancesQuestion{}, []any{Sessions{}}}},
	"logs":            {(*Coordinator).askLogs, Shape{LogsQuestion{}, []any{Logs{}}}},
	"plan":            {(*Coordinator).askPlan, Shape{PlanQuestion{}, []any{coordinator.Plan{}, coordinator.DrainPlan{}, coordinator.RebalancePlan{}, coordinator.CommandPlan{}}}},
	"state":           {(*Coordinator).askState, Shape{StateQuestion{}, []any{ClusterState{}, PastState{}}}},
	"service-metrics": {(*Coordinator).askServiceMetrics, Shape{MetricsQuestion{}, []any{ServiceMetrics{}}}},
	"what-if":         {(*Coordinator).askWhatIf, Shape{WhatIfQuestion{}, []any{whatif.Report{}}}},
	"services":        {services.ask(), Shape{ListQuestion{}, []any{List[views.Service]{}}}},
	"operations":      {operations.ask(), Shape{ListQuestion{}, []any{List[views.ServiceOperation]{}}}},
	"instances":       {instances.ask(), Shape{ListQuestion{}, []any{List[views.Instance]{}}}},
	"nodes":           {nodes.ask(), Shape{ListQuestion{}, []any{List[views.Node]{}}}},
}

// Shapes returns how each question is asked and answered, by its name below rookery.api.
func Shapes() map[string]Shape {
	shapes := make(map[string]Shape, len(questions))
	for name, q := range questions {
		shapes[name] = q.shape
	}
	return shapes
}

// Refusal returns how any question is answered that could not be: a value of the type.
func Refusal() any { return bus.Refusal{} }

// answers returns what the bus is to answer the questions by.
func (c *Coordinator) answers(ctx context.Context) map[string]bus.Question {
	all := make(map[string]bus.Question, len(questions))
	for name, q := range questions {
		all[name] = func(body []byte) ([]byte, error) { return q.answer(c, ctx, body) }
	}
	return all
}

// askState answers the question `state`: in short where it is that of now, which a loop that is busy answers too.
func (c *Coordinator) askState(ctx context.Context, question []byte) (body []byte, err error) {
	var q StateQuestion
	if len(bytes.TrimSpace(question)) > 0 {
		err = json.Unmarshal(question, &q, json.RejectUnknownMembers(true))
	}
	past := q.AtSeq > 0 || !q.AtTime.IsZero()
	if err != nil || (q.AtSeq > 0 && !q.AtTime.IsZero()) || (!past && q.Service+q.Node != "") || (past && q.Live) {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {} for the present state, with {"live":true} for the hash of what the coordinator has in memory, or for any time with {"at_seq":100} or` +
			` {"at_time":"2026-11-01T12:00:00Z"}, and there with "service":"demo/web" or "node":"n1" for these alone`}
	}
	if past {
		return c.askPastState(ctx, q)
	}
	turn := c.hashes
	if q.Live {
		turn = c.lives
	}
	return c.inTurn(ctx, turn, func(ctx context.Context) ([]byte, error) {
		var state ClusterState
		hash := func(*projections.Cluster) {}
		if q.Live {
			select {
			case <-time.After(time.Until(c.liveAfter)):
			case <-ctx.Done():
				return nil, errBusy
			}
			hash = func(s *projections.Cluster) {
				began := time.Now()
				state.Hash = s.Hash()
				c.liveAfter = time.Now().Add(liveShare * time.Since(began))
			}
		}
		if err := c.put(ctx, "", events.Heartbeat{}, func(c *Coordinator) {
			state = stateOf(c.cluster)
			state.Answered, state.Leading = c.Name, c.leading
			hash(c.cluster)
		}); err != nil || q.Live {
			return encodedState(state, err)
		}
		state.Hash, err = c.hashAt(ctx, state.Sequence)
		return encodedState(state, err)
	})
}

// liveShare bounds the time that the loop spends on hashes of its memory: between two it has so many times as long for all else.
const liveShare = 4

func encodedState(state ClusterState, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(state)
}

// stateOf says a state in short, but for its hash.
func stateOf(s *projections.Cluster) ClusterState {
	state := ClusterState{
		Log: s.LogID(), Sequence: s.Sequence, Round: s.Round, Epoch: s.Epoch, Leader: s.Leader, Now: s.Now,
		Services: len(s.Services), Nodes: len(s.Nodes), Open: len(s.Open()),
	}
	for _, shunned := range s.Shunned[:min(len(s.Shunned), mostShunnedTold)] {
		state.Shunned = append(state.Shunned, shunned.String())
	}
	return state
}

// hashed is the hash of the state at the end of a round.
type hashed struct {
	sequence uint64
	hash     string
}

// hashAt returns the hash of the state at the end of a round, from a fold of its own: the loop has other things to do than to encode the whole
// state. One is made at a time, and the last one is kept.
func (c *Coordinator) hashAt(ctx context.Context, sequence uint64) (string, error) {
	if c.hashed.sequence == sequence && c.hashed.hash != "" {
		return c.hashed.hash, nil
	}
	fold, reader, err := c.folds().begin(ctx, sequence)
	if err != nil {
		return "", err
	}
	defer reader.Stop()
	if err := to(ctx, fold, reader, sequence); err != nil {
		return "", err
	}
	c.hashed = hashed{sequence, fold.Cluster.Hash()}
	return c.hashed.hash, nil
}
