package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// Fate is the answer to the question `command`.
type Fate struct {
	Sequence uint64              `json:"sequence"`
	Service  string              `json:"service,omitempty"`
	Group    string              `json:"group,omitempty"`
	Node     string              `json:"node,omitempty"`
	Verb     string              `json:"verb,omitempty"`
	Outcome  projections.Outcome `json:"outcome"`
	// Unchanged says that all it asked for was desired before.
	Unchanged bool `json:"unchanged,omitzero"`
	// Queued says that it waits until the commands to its service before it have ended.
	Queued    bool              `json:"queued,omitzero"`
	Rejection *events.Rejection `json:"rejection,omitempty"`
	// Reason and Message explain a failure; Other is the command that superseded this one, holds its service or is repeated by it.
	Reason  events.FailureReason `json:"reason,omitempty"`
	Message string               `json:"message,omitempty"`
	Other   uint64               `json:"other,omitzero"`
	// LogSequence is the place in the log that the answer is true at.
	LogSequence uint64 `json:"log_sequence"`
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

const (
	// maxCommandWait is the longest that an answer waits for the end of a command.
	maxCommandWait = 30 * time.Second
	// waitsAtOnce is how many answers wait at once: each holds one of the places of all questions.
	waitsAtOnce = 32
	// lookAgain is how often it looks in between.
	lookAgain = 200 * time.Millisecond
)

// CommandQuestion asks what became of a command: by the sequence that the acknowledgement gave, or by its id and source.
type CommandQuestion struct {
	Sequence uint64 `json:"sequence,omitzero"`
	ID       string `json:"id,omitempty"`
	Source   string `json:"source,omitempty"`
	// Wait is how long the answer waits for the end of the command of a sequence; maxCommandWait at most.
	Wait events.Duration `json:"wait,omitzero"`
}

// askCommand answers the question `command`, with the code 404 for a command that is not stored and 425 for one that is stored and not decided.
func (c *Coordinator) askCommand(ctx context.Context, body []byte) ([]byte, error) {
	var q CommandQuestion
	wait := func() time.Duration { return time.Duration(q.Wait) }
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || (q.Sequence == 0) == (q.ID == "") ||
		wait() < 0 || wait() > maxCommandWait || (wait() > 0 && q.Sequence == 0) {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"sequence":17}, which the acknowledgement gave, and with "wait":"5s" (30s at most)` +
			` for its end, or with {"id":"…","source":"…"}`}
	}
	if wait() == 0 {
		answer, _, err := c.fateNow(ctx, q)
		return answer, err
	}
	done, err := c.waits.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	told, err := c.Bus.Subscribe(fmt.Sprintf("%s.command.%d.*", events.EventRoot, q.Sequence))
	if err != nil {
		return nil, err
	}
	defer told.Stop()
	over := time.NewTimer(wait())
	defer over.Stop()
	again := time.NewTicker(lookAgain) // a standby folds the end after clients were told of it
	defer again.Stop()
	for {
		answer, ended, err := c.fateNow(ctx, q)
		if ended {
			return answer, err
		}
		select {
		case <-told.Messages():
		case <-again.C:
		case <-over.C:
			return answer, err
		case <-ctx.Done():
			return answer, err
		}
	}
}

// fateNow answers from the present state, and reports whether a later answer would be the same.
func (c *Coordinator) fateNow(ctx context.Context, q CommandQuestion) (answer []byte, ended bool, err error) {
	known, err := c.lookUp(ctx, q)
	if err != nil || known.answer != nil {
		return known.answer, known.ended, err
	}
	call, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	stored, last, err := c.undecided(call, q, known.cursor)
	switch {
	case err != nil:
		return nil, true, err
	case stored && q.ID != "":
		return nil, false, &bus.QuestionError{Code: 425, Reason: "the command of this id and source is stored, and not decided yet: ask again"}
	case stored:
		return nil, false, &bus.QuestionError{Code: 425, Reason: fmt.Sprintf("command %d is stored, and not decided yet: ask again, or with \"wait\":\"5s\"", q.Sequence)}
	}
	// A command that has left the stream may have been decided meanwhile.
	if known, err = c.lookUp(ctx, q); err != nil || known.answer != nil {
		return known.answer, known.ended, err
	}
	switch {
	case q.Sequence > last:
		return nil, true, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf(
			"command %d is not stored: %s ends at %d. Send it again", q.Sequence, bus.Commands, last)}
	case !known.leading:
		return nil, false, &bus.QuestionError{Code: 503, Reason: "this coordinator stands by, and may not know yet what was decided: ask again"}
	case q.ID != "":
		return nil, true, &bus.QuestionError{Code: 404, Reason: "no command of this id and source is stored, or it was decided so long ago that its id is forgotten"}
	}
	return nil, true, &bus.QuestionError{Code: 404, Reason: fmt.Sprintf(
		"command %d has gone from %s before it was decided. Send it again", q.Sequence, bus.Commands)}
}

// lookedUp is what the state knows of a command.
type lookedUp struct {
	answer []byte // nil where it is not known
	ended  bool
	// cursor is up to where commands are decided, as far as the state goes: to the end of the log where the coordinator is leading.
	cursor  uint64
	leading bool
}

func (c *Coordinator) lookUp(ctx context.Context, q CommandQuestion) (known lookedUp, err error) {
	asked := c.put(ctx, "", events.Heartbeat{}, func(c *Coordinator) {
		known.cursor, known.leading = c.cluster.CommandCursor, c.leading
		cmd := c.cluster.Commands[q.Sequence]
		if q.ID != "" {
			cmd = c.cluster.KnownID(q.Source, q.ID)
		}
		switch {
		case cmd != nil:
			known.ended = cmd.Outcome != projections.Accepted
			known.answer, err = c.fate(cmd)
		case q.Sequence > 0 && q.Sequence < c.cluster.CommandsKept:
			err = &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("command %d is no longer kept: the oldest kept is %d", q.Sequence, c.cluster.CommandsKept)}
		}
	})
	if err = errors.Join(asked, err); err != nil {
		known.ended = true
	}
	return known, err
}

// undecided reports whether the stream has the command behind those that are decided, and where the stream ends.
func (c *Coordinator) undecided(ctx context.Context, q CommandQuestion, cursor uint64) (stored bool, last uint64, err error) {
	state, err := c.Bus.State(ctx, bus.Commands)
	if err != nil || q.ID == "" {
		return q.Sequence > cursor && q.Sequence >= state.First && q.Sequence <= state.Last, state.Last, err
	}
	done, err := c.lookUps.take(ctx)
	if err != nil {
		return false, 0, err
	}
	defer done()
	for from := cursor + 1; ; {
		page, err := c.Bus.Matching(ctx, bus.Commands, events.CommandRoot+".>", from)
		if ctx.Err() != nil {
			return false, 0, &bus.QuestionError{Code: 503, Reason: "many commands are not decided yet: ask again, or by the sequence that the acknowledgement gave"}
		}
		if err != nil {
			return false, 0, err
		}
		for _, m := range page {
			if r := events.ParseRequest(m); r.ID == q.ID && r.Source == q.Source {
				return true, state.Last, nil
			}
		}
		if len(page) < bus.MatchingPage {
			return false, state.Last, nil
		}
		from = page[len(page)-1].Sequence + 1
	}
}

func (c *Coordinator) fate(cmd *projections.Command) ([]byte, error) {
	f := Fate{
		Sequence: cmd.Sequence, Node: cmd.Node, Verb: cmd.Verb, Outcome: cmd.Outcome, Unchanged: cmd.Unchanged, Queued: cmd.Queued, Rejection: cmd.Rejection,
		Reason: cmd.Reason, Message: cmd.Message, Other: cmd.Other, LogSequence: c.cluster.Sequence,
	}
	if cmd.Service.Name != "" {
		f.Service = cmd.Service.String()
	}
	if cmd.Group.Name != "" {
		f.Group = cmd.Group.String()
	}
	return json.Marshal(f)
}
