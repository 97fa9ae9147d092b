package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/coordinator/whatif"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// ErrBusy occurs when the loop does not get to a question in time.
var ErrBusy = errors.New("the coordinator did not get to the question in time")

// State passes the state as of the last whole round to a function that only reads it. The loop of the coordinator waits for the function,
// so no other code may run beside it. The error says why there is no such state now, or that the loop did not get to it in time.
type State func(ctx context.Context, read func(c *projections.Cluster, leading bool)) error

// Config is what a Server needs.
type Config struct {
	Bus bus.Bus
	// Name is that of the coordinator that answers.
	Name string
	// Now tells the time of the wall.
	Now   func() time.Time
	State State
	// Folds has the earlier states.
	Folds snapshots.Folds
}

// Server answers questions, from the present state or from the log.
type Server struct {
	Config

	// past are the turns of questions about the past, plans those of plans: neither kind waits for the other.
	past, plans turns
	// waits are the turns of questions that wait for the end of a command.
	waits turns
	// hashes are the turns of the question `state`, one at a time. hashed is the last result, and only the holder of the turn uses it.
	// lives and liveAfter do the same for the hash in memory: liveAfter is when the loop may be asked again. lookUps are the turns of
	// questions for a command by its id.
	hashes, lives, lookUps turns
	hashed                 hashed
	liveAfter              time.Time
	// reads holds an element for each answer in progress about what instances have printed.
	reads chan struct{}
	// simulates is held while a past is simulated: one at a time.
	simulates sync.Mutex
}

// New returns a server that is ready to answer.
func New(config Config) *Server {
	return &Server{
		Config: config, past: newTurns(pastAtOnce, pastWaiting), plans: newTurns(pastAtOnce, pastWaiting), waits: newTurns(waitsAtOnce, 0),
		hashes: newTurns(1, hashesWaiting), lives: newTurns(1, hashesWaiting), lookUps: newTurns(pastAtOnce, pastWaiting),
		reads: make(chan struct{}, logsAtOnce),
	}
}

// mostShunned bounds how many isolated items an answer names.
const mostShunned = 100

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
	// Shunned says what the coordinator skips because of a defect of its own: the first 100.
	Shunned []string `json:"shunned,omitempty"`
	// Answered is the name of the coordinator that answers; it may be a standby.
	Answered string `json:"answered_by"`
	Leading  bool   `json:"leading"`
}

// Shape is the form of a question and its answers: one value of each type. An answer has one of the types.
type Shape struct {
	Question any
	Answers  []any
}

// question is one question that a coordinator answers.
type question struct {
	answer func(*Server, context.Context, []byte) ([]byte, error)
	shape  Shape
	// about is that of a Question in this body; "" where it cannot be read.
	about func(body []byte) string
}

// Question is a question as clients ask it.
type Question interface {
	// About returns the namespace that the answer is about alone; "" for one about more than one, or about the cluster.
	About() string
}

// questionOf returns the question with this form.
func questionOf[Q Question](answer func(*Server, context.Context, []byte) ([]byte, error), answers ...any) question {
	var form Q
	return question{answer, Shape{form, answers}, func(body []byte) string {
		var q Q
		if err := json.Unmarshal(body, &q); err != nil {
			return ""
		}
		return q.About()
	}}
}

// questions are all questions, by their names below rookery.api.
var questions = map[string]question{
	"actual":          questionOf[ActualQuestion]((*Server).askActual, Actual{}),
	"addresses":       questionOf[AddressesQuestion]((*Server).askAddresses, Addresses{}),
	"command":         questionOf[CommandQuestion]((*Server).askCommand, Command{}),
	"diff":            questionOf[DiffQuestion]((*Server).askDiff, Diff{}),
	"explain":         questionOf[ExplainQuestion]((*Server).askExplain, coordinator.Explanation{}),
	"history":         questionOf[HistoryQuestion]((*Server).askHistory, History{}),
	"exec":            questionOf[InstancesQuestion]((*Server).askExec, Sessions{}),
	"logs":            questionOf[LogsQuestion]((*Server).askLogs, Logs{}),
	"plan":            questionOf[PlanQuestion]((*Server).askPlan, coordinator.Plan{}, coordinator.DrainPlan{}, coordinator.RebalancePlan{}, coordinator.CommandPlan{}),
	"state":           questionOf[StateQuestion]((*Server).askState, ClusterState{}, PastState{}),
	"service-metrics": questionOf[MetricsQuestion]((*Server).askServiceMetrics, ServiceMetrics{}),
	"what-if":         questionOf[WhatIfQuestion]((*Server).askWhatIf, whatif.Report{}),
	"services":        questionOf[ListQuestion](services.ask(), List[views.Service]{}),
	"operations":      questionOf[ListQuestion](operations.ask(), List[views.ServiceOperation]{}),
	"instances":       questionOf[ListQuestion](instances.ask(), List[views.Instance]{}),
	"nodes":           questionOf[ListQuestion](nodes.ask(), List[views.Node]{}),
}

// Shapes returns the form of each question and its answers, by its name below rookery.api.
func Shapes() map[string]Shape {
	shapes := make(map[string]Shape, len(questions))
	for name, q := range questions {
		shapes[name] = q.shape
	}
	return shapes
}

// Refusal returns a value of the type that answers a question that failed.
func Refusal() any { return bus.Refusal{} }

// Questions returns the handlers of the bus for the questions. A question on the subject of a namespace must be about that. When ctx ends, the
// server gives up answers in progress.
func (s *Server) Questions(ctx context.Context) map[string]bus.Question {
	all := make(map[string]bus.Question, len(questions))
	for name, q := range questions {
		all[name] = func(asked bus.Asked) (events.Message, error) {
			if asked.Namespace != "" && q.about(asked.Body) != asked.Namespace {
				return events.Message{}, &bus.QuestionError{Code: 403, Reason: fmt.Sprintf("the subject is for questions about the namespace %s alone: "+
					"name it, or a service of it, in the question %s", asked.Namespace, name)}
			}
			var of freshness
			about := context.WithValue(ctx, askedKey{}, asked)
			body, err := q.answer(s, context.WithValue(about, freshnessKey{}, &of), asked.Body)
			return events.Message{Header: of.headers(), Body: body}, err
		}
	}
	return all
}

// askState answers the question `state`. For the present it answers a summary, which a busy loop can answer, too.
func (s *Server) askState(ctx context.Context, question []byte) (body []byte, err error) {
	var q StateQuestion
	if len(bytes.TrimSpace(question)) > 0 {
		err = json.Unmarshal(question, &q, json.RejectUnknownMembers(true))
	}
	past := q.AtSeq > 0 || !q.AtTime.IsZero()
	if err != nil || (q.AtSeq > 0 && !q.AtTime.IsZero()) || (!past && q.Service+q.Node != "") || (past && q.Live) {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {} for the present state, with {"live":true} for the hash of what the coordinator has in memory, or for an earlier state with {"at_seq":100} or` +
			` {"at_time":"2026-11-01T12:00:00Z"}, and there with "service":"demo/web" or "node":"n1" for these alone`}
	}
	if past {
		return s.askPastState(ctx, q)
	}
	turn := s.hashes
	if q.Live {
		turn = s.lives
	}
	return s.inTurn(ctx, turn, func(ctx context.Context) ([]byte, error) {
		var state ClusterState
		hash := func(*projections.Cluster) {}
		if q.Live {
			select {
			case <-time.After(time.Until(s.liveAfter)):
			case <-ctx.Done():
				return nil, ErrBusy
			}
			hash = func(c *projections.Cluster) {
				began := time.Now()
				state.Hash = c.Hash()
				s.liveAfter = time.Now().Add(liveShare * time.Since(began))
			}
		}
		if err := s.State(ctx, func(c *projections.Cluster, leading bool) {
			state = stateOf(c)
			state.Answered, state.Leading = s.Name, leading
			hash(c)
		}); err != nil || q.Live {
			return encodedState(state, err)
		}
		state.Hash, err = s.hashAt(ctx, state.Sequence)
		return encodedState(state, err)
	})
}

// liveShare bounds the time that the loop spends on hashes of its memory: after each hash, it has this many times as long for other work.
const liveShare = 4

func encodedState(state ClusterState, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(state)
}

// stateOf returns the summary of a state, without its hash.
func stateOf(s *projections.Cluster) ClusterState {
	state := ClusterState{
		Log: s.LogID(), Sequence: s.Sequence, Round: s.Round, Epoch: s.Epoch, Leader: s.Leader, Now: s.Now,
		Services: len(s.Services), Nodes: len(s.Nodes), Open: len(s.Open()),
	}
	for _, shunned := range s.Shunned[:min(len(s.Shunned), mostShunned)] {
		state.Shunned = append(state.Shunned, shunned.String())
	}
	return state
}

// hashed is the hash of the state at the end of a round.
type hashed struct {
	sequence uint64
	hash     string
}

// hashAt returns the hash of the state at the end of a round. It uses a fold of its own, as the loop has no time to encode the whole state.
// It computes one hash at a time, and keeps the last one.
func (s *Server) hashAt(ctx context.Context, sequence uint64) (string, error) {
	if s.hashed.sequence == sequence && s.hashed.hash != "" {
		return s.hashed.hash, nil
	}
	fold, reader, err := s.Folds.Begin(ctx, sequence)
	if err != nil {
		return "", err
	}
	defer reader.Stop()
	if err := snapshots.To(ctx, fold, reader, sequence); err != nil {
		return "", err
	}
	s.hashed = hashed{sequence, fold.Cluster.Hash()}
	return s.hashed.hash, nil
}
