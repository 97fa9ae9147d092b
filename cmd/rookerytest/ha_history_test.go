package rookerytest_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// sharedServices are how many services several clients scale at once, each only where the service has not changed since the client looked.
// sharedScale is what they begin with.
const sharedServices, sharedScale = 2, 1

func sharedService(i int) string { return fmt.Sprintf("sim/shared%d", i) }

// scaling is a command to a shared service as its client saw it. A client knows the result from the question `command`.
type scaling struct {
	client           int
	service, id      string
	scale            int64  // that it asks for
	seen             uint64 // the sequence of the log that the client had seen
	sequence         uint64 // that the acknowledgement gave; 0 where none came
	called, answered time.Time
	result           scaled // the zero value where no answer came
}

// scaled is what became of such a command.
type scaled string

const (
	taken   scaled = "accepted"
	refused scaled = "rejected: changed"
)

// scalings are the commands of all clients to the shared services.
type scalings struct {
	mu    sync.Mutex
	all   []scaling
	wrong []string
}

// scale lets a client scale the shared services in turn until the context ends. It looks and asks without a pause in between, so that commands
// of several clients often meet.
func (h *scalings) scale(ctx context.Context, b *bus.JetStream, client int) {
	const each = 250 * time.Millisecond
	turns := time.NewTicker(each)
	defer turns.Stop()
	for n := 0; ; n++ {
		select {
		case <-turns.C:
			s := scaling{client: client, service: sharedService(n % sharedServices), id: rand.Text(), scale: int64(1 + (n+client)%3)}
			if wrong := s.do(ctx, b); wrong != "" {
				h.note(s, wrong)
			} else if !s.called.IsZero() {
				h.note(s)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (h *scalings) note(s scaling, wrong ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all, h.wrong = append(h.all, s), append(h.wrong, wrong...)
}

// do looks at the state and sends the command, and asks what became of it. It says if an answer breaks a promise.
func (s *scaling) do(ctx context.Context, b *bus.JetStream) (wrong string) {
	var state api.ClusterState
	if code := askOnce(ctx, b, "state", `{}`, &state); code != "" {
		return ""
	}
	s.seen = state.Sequence
	id, err := events.ParseServiceID(s.service)
	if err != nil {
		return err.Error()
	}
	command := events.ServiceScale{Scale: &s.scale}
	command.Busy, command.IfSeq = events.BusySupersede, s.seen
	m, err := events.Encode(b.CommandSubject(events.CommandSubject(id, "scale")), command, events.Attributes{ID: s.id, Source: "/shared", Time: time.Now()})
	if err != nil {
		return err.Error()
	}
	s.called = time.Now()
	// Also once the context ends: what was acknowledged is to be known.
	send, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishWithin)
	defer cancel()
	if s.sequence, err = b.Publish(send, m); err != nil {
		return ""
	}
	return s.ask(context.WithoutCancel(ctx), b)
}

// ask asks what became of the command until a coordinator knows it.
func (s *scaling) ask(ctx context.Context, b *bus.JetStream) (wrong string) {
	ctx, cancel := context.WithTimeout(ctx, recoversWithin)
	defer cancel()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		var answer api.Command
		switch askOnce(ctx, b, "command", fmt.Sprintf(`{"sequence":%d}`, s.sequence), &answer) {
		case "404":
			return fmt.Sprintf("command %d was acknowledged, and a coordinator says that it is not stored", s.sequence)
		case "":
			s.answered, s.result = time.Now(), resultOf(answer)
			return ""
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Sprintf("no coordinator says what became of command %d", s.sequence)
		}
	}
}

func resultOf(answer api.Command) scaled {
	if answer.Rejection != nil {
		return scaled("rejected: " + string(answer.Rejection.Code))
	}
	return taken
}

// askOnce asks the question once, and returns the code of the error that came instead of an answer; 503 for none at all.
func askOnce(ctx context.Context, b *bus.JetStream, question, body string, answer any) (code string) {
	const none = "503"
	ctx, cancel := context.WithTimeout(ctx, publishWithin)
	defer cancel()
	m, err := b.Request(ctx, events.Message{Subject: b.QuestionSubject(question, ""), Body: []byte(body)})
	if err != nil {
		return none
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		return code
	}
	if json.Unmarshal(m.Body, answer) != nil {
		return none
	}
	return ""
}

// inLog is what the log says of a command to a shared service.
type inLog struct {
	sequence uint64
	result   scaled
	read     time.Time // when the follower read the outcome
}

// decisions are what the follower has read of the shared services.
type decisions struct {
	byID    map[string]inLog
	changes map[uint64]uint64 // the sequence of the log where a command changed its service
}

func (d decisions) take(r events.Record) {
	switch data := r.Data.(type) {
	case events.CommandAccepted:
		d.note(data.CommandIdentity, taken)
	case events.CommandRejected:
		d.note(data.CommandIdentity, scaled("rejected: "+string(data.Code)))
	case events.ServiceScaled:
		d.changes[r.Cause.Correlation] = r.Sequence
	}
}

func (d decisions) note(of events.CommandIdentity, result scaled) {
	if of.Source == "/shared" {
		d.byID[of.ID] = inLog{of.Sequence, result, time.Now()}
	}
}

// scaledTo is the output of an operation of the history: the result, and where in the log it changed the service; 0 where it did not.
type scaledTo struct {
	result  scaled
	changed uint64
}

// sharedState is a shared service as one client alone would see it: its scale, and where in the log it was changed last.
type sharedState struct {
	scale int64
	last  uint64
}

// conditional says what a command does to such a service. It changes the service only if its client has seen the last change.
var conditional = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byService := map[string][]porcupine.Operation{}
		for _, o := range history {
			name := o.Input.(scaling).service
			byService[name] = append(byService[name], o)
		}
		var all [][]porcupine.Operation
		for _, one := range byService {
			all = append(all, one)
		}
		return all
	},
	Init: func() any { return sharedState{scale: sharedScale} },
	Step: func(state, input, output any) (bool, any) {
		s, in, out := state.(sharedState), input.(scaling), output.(scaledTo)
		switch {
		case out.result == refused:
			return in.seen < s.last, s
		case out.changed == 0: // it asked for what was desired before
			return in.seen >= s.last && in.scale == s.scale, s
		}
		return in.seen >= s.last && out.changed > s.last && in.scale != s.scale, sharedState{in.scale, out.changed}
	},
}

// check checks that each answer agrees with the log, and that one client after the other could have had all results in an order that agrees with
// when each was called and answered. It returns how many operations were checked.
func (h *scalings) check(known decisions) (checked int, wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wrong = slices.Clone(h.wrong)
	var history []porcupine.Operation
	for _, s := range h.all {
		d, stored := known.byID[s.id]
		switch {
		case !stored && s.sequence == 0: // it was never stored
			continue
		case !stored:
			wrong = append(wrong, fmt.Sprintf("the log has no outcome of command %d", s.sequence))
			continue
		case s.result == "":
			s.result, s.answered = d.result, d.read
		case s.result != d.result:
			wrong = append(wrong, fmt.Sprintf("command %d is %q in the log, and the answer was %q", s.sequence, d.result, s.result))
		}
		if s.result != taken && s.result != refused {
			wrong = append(wrong, fmt.Sprintf("command %d is %q", s.sequence, s.result))
		}
		history = append(history, porcupine.Operation{
			ClientId: s.client, Input: s, Call: s.called.UnixNano(), Output: scaledTo{s.result, known.changes[d.sequence]}, Return: s.answered.UnixNano(),
		})
	}
	const patience = time.Minute
	if result := porcupine.CheckOperationsTimeout(conditional, history, patience); result != porcupine.Ok {
		wrong = append(wrong, fmt.Sprintf("the history of %d commands with if_seq is not linearizable (%s)", len(history), result))
	}
	return len(history), wrong
}

// TestAHistoryOfAnotherOrderIsNoticed checks histories of two clients, of which each but the first breaks a promise.
func TestAHistoryOfAnotherOrderIsNoticed(t *testing.T) {
	const first, second = 10, 20 // sequences of the log where a command changed the service
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	one := scaling{client: 1, service: "sim/shared0", id: "one", scale: 2, seen: 5, sequence: 1, called: at(1), answered: at(2), result: taken}
	two := scaling{client: 2, service: "sim/shared0", id: "two", scale: 3, seen: 15, sequence: 2, called: at(3), answered: at(4), result: taken}
	log := decisions{
		map[string]inLog{"one": {1, taken, at(2)}, "two": {2, taken, at(4)}, "three": {3, taken, at(4)}},
		map[uint64]uint64{1: first, 2: second},
	}
	blind, silent, denied, early, lost := two, two, two, two, two
	lost.id = "three"
	blind.seen = 5
	silent.result, silent.answered = "", time.Time{}
	denied.result = refused
	early.called, early.answered = at(0), at(1).Add(-time.Millisecond)
	for name, c := range map[string]struct {
		second scaling
		wrong  int
	}{
		"one after the other":                      {two, 0},
		"no answer, and the log has the outcome":   {silent, 0},
		"it has not seen the change before it":     {blind, 1},
		"another answer than the log has":          {denied, 2},
		"it was answered before the change it saw": {early, 1},
		"it was accepted and changed nothing":      {lost, 1},
	} {
		h := scalings{all: []scaling{one, c.second}}
		if checked, wrong := h.check(log); checked != 2 || len(wrong) != c.wrong {
			t.Errorf("%s: %d commands checked, %q; want 2 commands and %d wrong", name, checked, wrong, c.wrong)
		}
	}
}
