package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// Command is the answer to the question `command`.
type Command struct {
	Sequence uint64 `json:"sequence"`
	Service  string `json:"service,omitempty"`
	Group    string `json:"group,omitempty"`
	Node     string `json:"node,omitempty"`
	Verb     string `json:"verb,omitempty"`
	// Actor is the user that sent it, where accounts are on.
	Actor   string              `json:"actor,omitempty"`
	Outcome projections.Outcome `json:"outcome"`
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
	// Actor is the user that sent the command of an id, where accounts are on.
	Actor string `json:"actor,omitempty"`
	// Namespace limits the answer to commands to services and groups of this namespace.
	Namespace string `json:"namespace,omitempty"`
	// Wait is how long the answer waits for the end of the command of a sequence; maxCommandWait at most.
	Wait events.Duration `json:"wait,omitzero"`
}

// askCommand answers the question `command`, with the code 404 for a command that is not stored, 425 for one that is stored and not decided, and
// 503 where a standby cannot tell which.
func (s *Server) askCommand(ctx context.Context, body []byte) ([]byte, error) {
	var q CommandQuestion
	wait := func() time.Duration { return time.Duration(q.Wait) }
	if err := json.Unmarshal(body, &q, json.RejectUnknownMembers(true)); err != nil || (q.Sequence == 0) == (q.ID == "") ||
		wait() < 0 || wait() > maxCommandWait || (wait() > 0 && q.Sequence == 0) {
		return nil, &bus.QuestionError{Code: 400, Reason: `ask with {"sequence":17}, which the acknowledgement gave, and with "wait":"5s" (30s at most)` +
			` for its end, or with {"id":"…","source":"…"}`}
	}
	if wait() == 0 {
		answer, _, err := s.outcomeNow(ctx, q)
		return answer, err
	}
	done, err := s.waits.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	told, err := s.Bus.Subscribe(fmt.Sprintf("%s.command.%d.*", events.EventRoot, q.Sequence))
	if err != nil {
		return nil, err
	}
	defer told.Stop()
	over := time.NewTimer(wait())
	defer over.Stop()
	again := time.NewTicker(lookAgain) // a standby folds the end after clients were told of it
	defer again.Stop()
	for {
		answer, ended, err := s.outcomeNow(ctx, q)
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
func (s *Server) outcomeNow(ctx context.Context, q CommandQuestion) (answer []byte, ended bool, err error) {
	known, err := s.lookUp(ctx, q)
	if err != nil || known.answer != nil {
		return known.answer, known.ended, err
	}
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	stored, last, err := s.undecided(call, q, known.cursor)
	switch {
	case err != nil:
		return nil, true, err
	case stored && q.ID != "":
		return nil, false, &bus.QuestionError{Code: 425, Reason: "the command of this id and source is stored, and not decided yet: ask again"}
	case stored:
		return nil, false, &bus.QuestionError{Code: 425, Reason: fmt.Sprintf("command %d is stored, and not decided yet: ask again, or with \"wait\":\"5s\"", q.Sequence)}
	}
	// A command that has left the stream may have been decided meanwhile.
	if known, err = s.lookUp(ctx, q); err != nil || known.answer != nil {
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

func (s *Server) lookUp(ctx context.Context, q CommandQuestion) (known lookedUp, err error) {
	asked := s.State(ctx, func(c *projections.Cluster, leading bool) {
		known.cursor, known.leading = c.CommandCursor, leading
		cmd := c.Commands[q.Sequence]
		if q.ID != "" {
			cmd = c.KnownID(q.Actor, q.Source, q.ID)
		}
		switch {
		case cmd != nil && q.Namespace != "" && cmd.Service.Namespace != q.Namespace && cmd.Group.Namespace != q.Namespace:
			err = &bus.QuestionError{Code: 403, Reason: fmt.Sprintf("command %d is not to a service or group of the namespace %s", cmd.Sequence, q.Namespace)}
		case cmd != nil:
			known.ended = cmd.Outcome != projections.Accepted
			known.answer, err = answerOf(c, cmd)
		case q.Sequence > 0 && q.Sequence < c.CommandsKept:
			err = &bus.QuestionError{Code: 404, Reason: fmt.Sprintf("command %d is no longer kept: the oldest kept is %d", q.Sequence, c.CommandsKept)}
		}
	})
	if err = errors.Join(asked, err); err != nil {
		known.ended = true
	}
	return known, err
}

// undecided reports whether the stream has the command behind those that are decided, and where the stream ends.
func (s *Server) undecided(ctx context.Context, q CommandQuestion, cursor uint64) (stored bool, last uint64, err error) {
	state, err := s.Bus.State(ctx, bus.Commands)
	if err == nil && q.Sequence > state.Last { // a server that was cut off tells an outdated end for a while
		var m events.Message
		m, _, err = s.Bus.Last(ctx, bus.Commands)
		state.Last = max(state.Last, m.Sequence)
	}
	if err != nil || q.ID == "" {
		return q.Sequence > cursor && q.Sequence >= state.First && q.Sequence <= state.Last, state.Last, err
	}
	done, err := s.lookUps.take(ctx)
	if err != nil {
		return false, 0, err
	}
	defer done()
	for from := cursor + 1; ; {
		page, err := s.Bus.Matching(ctx, bus.Commands, events.CommandRoot+".>", from)
		if ctx.Err() != nil {
			return false, 0, &bus.QuestionError{Code: 503, Reason: "many commands are not decided yet: ask again, or by the sequence that the acknowledgement gave"}
		}
		if err != nil {
			return false, 0, err
		}
		for _, m := range page {
			if r := events.ParseRequest(m); r.ID == q.ID && r.Source == q.Source && r.Actor == q.Actor {
				return true, state.Last, nil
			}
		}
		if len(page) < bus.MatchingPage {
			return false, state.Last, nil
		}
		from = page[len(page)-1].Sequence + 1
	}
}

// answerOf encodes what became of the command, as the state knows it.
func answerOf(c *projections.Cluster, cmd *projections.Command) ([]byte, error) {
	f := Command{
		Sequence: cmd.Sequence, Node: cmd.Node, Verb: cmd.Verb, Actor: cmd.Cause.Actor, Outcome: cmd.Outcome, Unchanged: cmd.Unchanged, Queued: cmd.Queued, Rejection: cmd.Rejection,
		Reason: cmd.Reason, Message: cmd.Message, Other: cmd.Other, LogSequence: c.Sequence,
	}
	if cmd.Service.Name != "" {
		f.Service = cmd.Service.String()
	}
	if cmd.Group.Name != "" {
		f.Group = cmd.Group.String()
	}
	return json.Marshal(f)
}
