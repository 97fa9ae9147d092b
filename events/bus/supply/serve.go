package supply

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/session"
)

// How many nodes read their orders at once, how many contents of volumes are read and stored at once, and how many short questions of one node are
// answered at once. Others are refused, and ask again.
const (
	maxOrders  = 256
	maxVolumes = 16
	maxOfNode  = 8
)

// server answers questions of nodes.
type server struct {
	bus   bus.Bus
	leads func() bool
	ctx   context.Context

	mu   sync.Mutex
	asks map[string]int // short questions of each node that are being answered
}

// Serve answers the questions of nodes until stop is called, which returns once no answer is under way. It refuses them while leads says that
// another coordinator may lead.
func Serve(b bus.Bus, leads func() bool) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{bus: b, leads: leads, ctx: ctx, asks: map[string]int{}}
	stopAll, err := bus.Begin(
		s.answers(askConfig, config), s.answers(askKeepOutput, keepOutput), s.answers(askHasVolume, hasVolume),
		s.serves(askOrders, maxOrders, s.orders), s.serves(askVolume, maxVolumes, s.volume), s.serves(askStoreVolume, maxVolumes, s.storeVolume),
	)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("answer questions of nodes: %w", err)
	}
	return func() {
		cancel()
		stopAll()
	}, nil
}

func (s *server) serves(question string, most int, handle session.Handler) func() (func(), error) {
	return func() (func(), error) { return session.ServeOwn(s.bus, subject(question, "*"), most, nodeOf, handle) }
}

// short answers a question with one message, by the supply of the node that asks.
type short func(ctx context.Context, s Supply, q asked) (body []byte, err error)

func config(ctx context.Context, s Supply, q asked) ([]byte, error) {
	return s.Config(ctx, q.Instance, q.Config)
}

func keepOutput(ctx context.Context, s Supply, q asked) ([]byte, error) {
	if len(q.Lines) > events.MaxOutput {
		return nil, fmt.Errorf("%w: %d bytes of output, more than %d", bus.ErrTooLarge, len(q.Lines), events.MaxOutput)
	}
	return nil, s.KeepOutput(ctx, q.Instance, q.Attempt, q.Lines)
}

func hasVolume(ctx context.Context, s Supply, q asked) ([]byte, error) {
	has, err := s.HasVolume(ctx, q.Instance, q.Digest)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found{has})
}

func (s *server) answers(question string, do short) func() (func(), error) {
	return func() (func(), error) { return s.bus.Answer(subject(question, "*"), s.answer(question, do)) }
}

func (s *server) answer(question string, do short) func(events.Message) (events.Message, error) {
	return func(m events.Message) (events.Message, error) {
		body, err := s.short(question, do, m)
		if err != nil {
			return bus.Refuse(events.Message{}, toWire(err)), nil
		}
		return events.Message{Header: events.Header{}, Body: body}, nil
	}
}

func (s *server) short(question string, do short, m events.Message) ([]byte, error) {
	node := nodeOf(m.Subject)
	if !s.enter(node) {
		return nil, &bus.QuestionError{Code: busy, Reason: fmt.Sprintf("%d questions of node %s are being answered: ask again", maxOfNode, node)}
	}
	defer s.leave(node)
	ctx, cancel := context.WithTimeout(s.ctx, bus.CallTimeout)
	defer cancel()
	q, err := s.admit(ctx, question, m)
	if err != nil {
		return nil, err
	}
	return do(ctx, Direct(s.bus, node), q)
}

// enter reports whether another short question of the node may be answered. The caller calls leave then.
func (s *server) enter(node string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asks[node] >= maxOfNode {
		return false
	}
	s.asks[node]++
	return true
}

func (s *server) leave(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asks[node]--; s.asks[node] == 0 {
		delete(s.asks, node)
	}
}

// mayLead returns an error if another coordinator may lead: it answers as well then.
func (s *server) mayLead() error {
	if !s.leads() {
		return &bus.QuestionError{Code: unavailable, Reason: "another coordinator may lead by now: ask again"}
	}
	return nil
}

// admit reads a question, and refuses it where the node's order for the instance does not ask for that.
func (s *server) admit(ctx context.Context, question string, m events.Message) (q asked, err error) {
	if err := s.mayLead(); err != nil {
		return q, err
	}
	if err := json.Unmarshal(m.Body, &q); err != nil {
		return q, &bus.QuestionError{Code: 400, Reason: fmt.Sprintf("the question %s cannot be read: %v", question, err)}
	}
	ctx, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	node := nodeOf(m.Subject)
	orders, err := s.bus.Latest(ctx, bus.Orders, events.OrderSubject(node, q.Instance))
	if err != nil {
		return q, err
	}
	for _, m := range orders {
		_, _, order, err := events.ParseOrder(m)
		if err != nil {
			return q, err
		}
		if q.allows(question, order) {
			return q, nil
		}
	}
	return q, fmt.Errorf("%w: the order of node %s for %s does not ask for %s", bus.ErrForbidden, node, q.Instance, question)
}

// orders sends a node its orders.
func (s *server) orders(ctx context.Context, c *session.Conn, opened events.Message) ([]byte, error) {
	if err := s.mayLead(); err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(ctx, bus.CallTimeout)
	defer cancel()
	all, err := Direct(s.bus, nodeOf(opened.Subject)).Orders(call)
	if err != nil {
		return nil, err
	}
	to := writer{ctx, c}
	for _, m := range all {
		if err := json.MarshalWrite(to, m); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// volume sends a node the content of a volume.
func (s *server) volume(ctx context.Context, c *session.Conn, opened events.Message) ([]byte, error) {
	q, err := s.admit(ctx, askVolume, opened)
	if err != nil {
		return nil, toWire(err)
	}
	content, err := Direct(s.bus, nodeOf(opened.Subject)).Volume(ctx, q.Instance, q.Digest)
	if err != nil {
		return nil, toWire(err)
	}
	defer func() { _ = content.Close() }() // it was read to its end, or the session has ended
	_, err = io.Copy(writer{ctx, c}, content)
	return nil, toWire(err)
}

// storeVolume stores the content of a volume that a node sends.
func (s *server) storeVolume(ctx context.Context, c *session.Conn, opened events.Message) ([]byte, error) {
	q, err := s.admit(ctx, askStoreVolume, opened)
	if err != nil {
		return nil, toWire(err)
	}
	to := Direct(s.bus, nodeOf(opened.Subject))
	if has, err := to.HasVolume(ctx, q.Instance, q.Digest); has || err != nil { // storing it again would put what has it at risk
		return nil, toWire(err)
	}
	return nil, toWire(to.StoreVolume(ctx, q.Instance, q.Digest, &upload{reader: reader{ctx: ctx, c: c}}))
}
