package runner

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// heartbeats holds what nodes are answered, as of the last closed round, and when each last sent a heartbeat. None of it is part of the state.
// All are answered from it beside the loop, so that no node becomes silent because a round takes long. A node that is silent, or was found so,
// gets no answer: the round that is being decided may place what it runs elsewhere.
type heartbeats struct {
	mu    sync.Mutex
	nodes map[string]*beating
	// unknown is the answer to a process that the log does not know. It does not have the level, so that one which cannot read that says what it is.
	unknown events.HeartbeatAnswer
	// back are the nodes that sent a heartbeat and got no answer. woken has a value while there are some.
	back  map[string]bool
	woken chan struct{}
}

// beating is the heartbeats of one node.
type beating struct {
	incarnation string
	past        []string // its earlier incarnations
	answer      events.HeartbeatAnswer
	// well says that the node is not silent.
	well bool
	// heard is when the last heartbeat came. Where assumed is set none has come since the term began or the loop was paused: heard has that time.
	heard   time.Time
	assumed bool
	// program is what the node's present process said of itself in this term; nil if it has not been heard.
	program *events.Program
}

func newHeartbeats() heartbeats {
	return heartbeats{nodes: map[string]*beating{}, back: map[string]bool{}, woken: make(chan struct{}, 1)}
}

// of returns the heartbeats of a node. A new node has sent none.
func (h *heartbeats) of(name string) *beating {
	b := h.nodes[name]
	if b == nil {
		b = &beating{}
		h.nodes[name] = b
	}
	return b
}

// assume gives every node time until its first heartbeat, as at the beginning of a term.
func (h *heartbeats) assume(c *projections.Cluster, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range c.Nodes {
		b := h.of(name)
		b.heard, b.assumed = now, true
	}
}

// beat notes a heartbeat and returns the answer to it. It reports false where the node must not get one. A heartbeat of a process other than
// the node's present one does not count.
func (h *heartbeats) beat(node, incarnation string, program events.Program, now time.Time) (events.HeartbeatAnswer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.nodes[node]
	switch {
	case b == nil:
		return h.unknown, true
	case b.incarnation != incarnation:
		answer := h.unknown
		answer.Superseded = slices.Contains(b.past, incarnation)
		return answer, true
	}
	b.heard, b.assumed, b.program = now, false, &program
	if !b.well {
		h.back[node] = true
		select {
		case h.woken <- struct{}{}:
		default:
		}
	}
	return b.answer, b.well
}

// takeBack returns, in order, the nodes that sent a heartbeat and got no answer since the last call.
func (h *heartbeats) takeBack() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	back := slices.Sorted(maps.Keys(h.back))
	clear(h.back)
	return back
}

// update makes the state of the last closed round the one that is answered from. A node with a new process has time until its first heartbeat.
func (h *heartbeats) update(c *Coordinator, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unknown = events.HeartbeatAnswer{Log: c.cluster.LogID(), List: c.list}
	for name := range h.nodes {
		if n := c.cluster.Nodes[name]; n == nil || n.Forgotten {
			delete(h.nodes, name)
		}
	}
	for name, n := range c.cluster.Nodes {
		if n.Forgotten {
			continue
		}
		b := h.of(name)
		if b.incarnation != n.Incarnation || b.answer.Epoch != n.Epoch {
			b.heard, b.incarnation, b.past = now, n.Incarnation, slices.Clone(n.Past)
			b.program = nil
		}
		b.well = !n.Silent
		b.answer = events.HeartbeatAnswer{
			Log: h.unknown.Log, Level: c.cluster.Level, List: max(c.list, c.lists[name]),
			Epoch: n.Epoch, Machine: n.MachineSince, Orders: n.Orders, Degraded: n.Degraded != "",
		}
	}
}

// cutOff answers no further heartbeats of the nodes that these records revoke, before the log has them: the log counts their silence from now on.
func (h *heartbeats) cutOff(records []events.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range records {
		if _, revoked := r.Data.(events.NodeRevoked); !revoked {
			continue
		}
		name, _ := r.Scope.Node()
		if b := h.nodes[name]; b != nil {
			b.well = false
		}
	}
}

// silent returns, in order, the nodes that the log counts as well and that sent no heartbeat for longer than silence. From now on they get no
// answer: an exclusive instance may run as long after the last one as the leader waits after it found the node silent. It counts the nodes
// that sent a heartbeat within the last lately.
func (h *heartbeats) silent(c *projections.Cluster, now time.Time, silence, lately time.Duration) (silent []string, answering int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, n := range c.Nodes {
		b := h.nodes[name]
		if b == nil {
			continue
		}
		ago := now.Sub(b.heard)
		if !n.Silent && ago > silence {
			b.well = false
			silent = append(silent, name)
		}
		if n.Live() && !b.assumed && ago <= lately {
			answering++
		}
	}
	slices.Sort(silent)
	return silent, answering
}

// answerHeartbeats begins to answer heartbeats. Each node has time until its first one.
func (l *leader) answerHeartbeats() error {
	l.heartbeats.assume(l.cluster, time.Now())
	stop, err := l.Bus.Answer(events.HeartbeatRoot+".*", l.answerHeartbeat)
	if err == nil {
		l.stopHeartbeats = stop
	}
	return err
}

// answerHeartbeat answers a heartbeat as long as the lease rules out another leader.
func (l *leader) answerHeartbeat(m events.Message) (events.Message, error) {
	node := strings.TrimPrefix(m.Subject, events.HeartbeatRoot+".")
	beat, of, err := events.DecodeAs[events.Heartbeat](m)
	if err != nil || !events.ValidName(node) {
		return events.Message{}, err
	}
	answer, may := l.heartbeats.beat(node, beat.Incarnation, of.Program, time.Now())
	switch {
	case !may:
		return events.Message{}, &bus.QuestionError{Code: 503, Reason: "the node is silent: ask again"}
	case l.ctx.Err() != nil || l.lease.expired():
		return events.Message{}, &bus.QuestionError{Code: 503, Reason: "another coordinator may lead by now: ask again"}
	}
	return events.Encode("", answer, events.Attributes{
		ID: node + "/" + of.ID, Source: "/rookery/" + answer.Log, Time: l.Now(), Program: l.Program,
	})
}
