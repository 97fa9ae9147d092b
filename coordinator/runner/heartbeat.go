package runner

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// heartbeats holds what nodes are answered, as of the last closed round, and when each last sent a heartbeat. None of it is part of the state.
// The heartbeats of nodes that are well are answered from it, beside the loop: however long a round takes, such a node does not become silent.
// All others wait for the loop, as the round that is being decided may place what they run elsewhere.
type heartbeats struct {
	mu    sync.Mutex
	nodes map[string]*beating
}

// beating is the heartbeats of one node.
type beating struct {
	incarnation string
	answer      events.HeartbeatAnswer
	// well says that the log neither counts the node as silent nor has forgotten it.
	well bool
	// heard is when the last heartbeat came. Where assumed is set none has come since the term began or the loop was paused: heard has that time.
	heard   time.Time
	assumed bool
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

// beat notes a heartbeat and returns the answer to it. It reports false where only the loop can answer.
func (h *heartbeats) beat(node, incarnation string, now time.Time) (events.HeartbeatAnswer, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.nodes[node]
	if b == nil || !b.well || b.incarnation != incarnation {
		return events.HeartbeatAnswer{}, false
	}
	b.heard, b.assumed = now, false
	return b.answer, true
}

// hear notes a heartbeat that the loop answers.
func (h *heartbeats) hear(node string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.nodes[node]; b != nil {
		b.heard, b.assumed = now, false
	}
}

// update takes over the state of the last closed round. It returns the nodes that are silent in it although they sent a heartbeat after the
// leader looked which are. A node with a new process has time until its first heartbeat.
func (h *heartbeats) update(c *Coordinator, looked, now time.Time) (returned []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range h.nodes {
		if c.cluster.Nodes[name] == nil {
			delete(h.nodes, name)
		}
	}
	for name, n := range c.cluster.Nodes {
		b := h.of(name)
		if b.incarnation != n.Incarnation || b.answer.Epoch != n.Epoch {
			b.heard = now
		}
		b.incarnation, b.answer, b.well = n.Incarnation, c.answerBeat(name, n.Incarnation), !n.Silent && !n.Forgotten
		if n.Silent && !b.assumed && b.heard.After(looked) {
			returned = append(returned, name)
		}
	}
	return returned
}

// updateAnswers makes the last closed round the one that heartbeats are answered from.
func (l *leader) updateAnswers() {
	for _, node := range l.heartbeats.update(l.Coordinator, l.lastTick, time.Now()) {
		l.returns(node)
	}
}

// silent returns, in order, the nodes that the log counts as well and that sent no heartbeat for longer than silence. It counts the nodes that
// sent one within the last lately.
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
	l.updateAnswers()
	var err error
	l.stopHeartbeats, err = l.Bus.Answer(events.HeartbeatRoot+".*", l.answerHeartbeat)
	return err
}

// answerHeartbeat answers from the state of the last closed round, as long as the lease rules out another leader.
func (l *leader) answerHeartbeat(m events.Message) (events.Message, error) {
	node := strings.TrimPrefix(m.Subject, events.HeartbeatRoot+".")
	beat, of, err := events.DecodeAs[events.Heartbeat](m)
	if err != nil || !events.ValidName(node) {
		return events.Message{}, err
	}
	answer, ok := l.heartbeats.beat(node, beat.Incarnation, time.Now())
	if !ok {
		if err := l.put(l.ctx, node, beat, func(c *Coordinator) { answer = c.answerBeat(node, beat.Incarnation) }); err != nil {
			return events.Message{}, err
		}
	}
	if l.lease.expired() {
		return events.Message{}, &bus.QuestionError{Code: 503, Reason: "another coordinator may lead by now: ask again"}
	}
	return events.Encode("", answer, events.Attributes{
		ID: node + "/" + of.ID, Source: "/rookery/" + answer.Log, Time: l.Now(),
	})
}

func (c *Coordinator) answerBeat(node, incarnation string) events.HeartbeatAnswer {
	answer := events.HeartbeatAnswer{Log: c.cluster.LogID(), List: max(c.list, c.lists[node])}
	n := c.cluster.Nodes[node]
	if n == nil || n.Forgotten {
		return answer
	}
	switch {
	case n.Incarnation == incarnation:
		answer.Epoch, answer.Machine, answer.Orders, answer.Degraded = n.Epoch, n.MachineSince, n.Orders, n.Degraded != ""
	case n.Was(incarnation):
		answer.Superseded = true
	}
	return answer
}
