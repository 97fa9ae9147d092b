package rookerytest_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// askEvery is the time between two commands of the sender.
const askEvery = 50 * time.Millisecond

// sender sends 20 commands a second, by a client of each server in turn, whether those before have been acknowledged or not. It keeps what
// was acknowledged. Beside each it sends a message to a stream that the server under test leads.
type sender struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu            sync.Mutex
	acked         []uint64
	times, probed []time.Time // of the acknowledgements of commands, and of the messages beside them
}

// send begins to send commands to the simulated services, and lets a client of each server scale the shared ones.
func (q *quorum) send() *sender {
	ctx, cancel := context.WithCancel(q.interrupted)
	c := &sender{cancel: cancel}
	for i, client := range q.clients {
		c.running.Go(func() { q.shared.scale(ctx, client, i) })
	}
	c.running.Go(func() {
		turns := time.NewTicker(askEvery)
		defer turns.Stop()
		for n := 0; ; n++ {
			select {
			case <-turns.C:
				c.running.Go(func() { c.one(ctx, q.clients[n%len(q.clients)], n) })
				c.running.Go(func() { c.probe(ctx, q.probers[n%len(q.probers)].Conn()) })
			case <-ctx.Done():
				return
			}
		}
	})
	return c
}

func (c *sender) one(ctx context.Context, b *bus.JetStream, n int) {
	const each, scales = 3, 3
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishWithin)
	defer cancel()
	id, err := events.ParseServiceID(simulatedService(n / each % simulatedServices))
	if err != nil {
		panic(err)
	}
	sequence, err := b.Publish(try, events.Message{
		Subject: b.CommandSubject(events.CommandSubject(id, "scale")), Body: []byte(scaleBody(simulatedScale + n%scales)),
	})
	if err != nil {
		return // Rookery promises nothing for it
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acked, c.times = append(c.acked, sequence), append(c.times, time.Now())
}

func (c *sender) probe(ctx context.Context, conn *nats.Conn) {
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishWithin)
	defer cancel()
	answer, err := conn.RequestWithContext(try, probeSubject, nil)
	if err != nil || !strings.Contains(string(answer.Data), `"seq"`) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probed = append(c.probed, time.Now())
}

// last returns the sequence of the last command that was acknowledged, or 0.
func (c *sender) last() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.acked) == 0 {
		return 0
	}
	return slices.Max(c.acked)
}

// stop ends the sender.
func (c *sender) stop() {
	c.cancel()
	c.running.Wait()
}

// longest returns the longest time without one of these, between two times.
func longest(from, to time.Time, times []time.Time) time.Duration {
	all := slices.SortedFunc(slices.Values(append(slices.Clone(times), from, to)), time.Time.Compare)
	gap := time.Duration(0)
	for i := 1; i < len(all); i++ {
		if !all[i-1].Before(from) && !all[i].After(to) {
			gap = max(gap, all[i].Sub(all[i-1]))
		}
	}
	return gap
}

// follower is a client that follows all events with a cursor of its own. It also notes when each command had its outcome.
type follower struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	cursor   uint64
	outcomes []time.Time // as the servers stored them
	shared   decisions
	wrong    []string
}

// followEvents begins to follow the events until the test ends.
func followEvents(t *testing.T, cluster *rookerytest.Cluster) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{cancel: cancel, shared: decisions{map[string]inLog{}, map[uint64]uint64{}}}
	f.running.Go(func() {
		for ctx.Err() == nil {
			f.read(ctx, cluster.Bus())
		}
	})
	t.Cleanup(func() {
		cancel()
		f.running.Wait()
	})
	return f
}

// read reads on behind the cursor until the reader ends.
func (f *follower) read(ctx context.Context, b bus.Bus) {
	const opensWithin = 10 * time.Second
	opening, cancel := context.WithTimeout(ctx, opensWithin)
	defer cancel()
	reader, err := b.Read(opening, bus.Log, f.cursor+1)
	if err != nil {
		return // it tries again
	}
	defer reader.Stop()
	for {
		select {
		case m, ok := <-reader.Messages():
			if !ok {
				return
			}
			f.take(m)
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) take(m events.Message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.Sequence != f.cursor+1 {
		f.wrong = append(f.wrong, fmt.Sprintf("the follower read event %d after event %d", m.Sequence, f.cursor))
	}
	f.cursor = m.Sequence
	record, err := events.ParseRecord(m)
	if err != nil {
		f.wrong = append(f.wrong, err.Error())
		return
	}
	f.shared.take(record)
	switch record.Data.(type) {
	case events.CommandAccepted, events.CommandRejected, events.CommandRepeated:
		f.outcomes = append(f.outcomes, m.Time)
	}
}

// sharedSoFar returns what the follower has read of the shared services.
func (f *follower) sharedSoFar() decisions {
	f.mu.Lock()
	defer f.mu.Unlock()
	return decisions{maps.Clone(f.shared.byID), maps.Clone(f.shared.changes)}
}

// since returns the times of outcomes that the follower has read up to an event of the log, and what was wrong with what it read. It reports
// false until it has read that event.
func (f *follower) since(event uint64, known int) (outcomes []time.Time, wrong []string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.outcomes[known:], f.wrong, f.cursor >= event
}

// asker is a client that asks for the state again and again, and keeps the hash that each answer has for a sequence of the log.
type asker struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	hashes map[uint64]map[string]string // by sequence and hash, the coordinator that said so
}

// askStates begins to ask for the state until the test ends.
func askStates(t *testing.T, cluster *rookerytest.Cluster) *asker {
	const each = 500 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	a := &asker{cancel: cancel, hashes: map[uint64]map[string]string{}}
	a.running.Go(func() {
		turns := time.NewTicker(each)
		defer turns.Stop()
		for {
			select {
			case <-turns.C:
				var state api.ClusterState
				if cluster.Ask("state", `{}`, &state) {
					a.note(state)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		a.running.Wait()
	})
	return a
}

func (a *asker) note(state api.ClusterState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := a.hashes[state.Sequence]
	if said == nil {
		said = map[string]string{}
		a.hashes[state.Sequence] = said
	}
	said[state.Hash] = state.Answered
}

// differ compares every answer with the log, folded from its first message, and returns those that differ and how many were compared.
func (a *asker) differ(ctx context.Context, b bus.Bus) (wrong []string, compared int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	log := newFollowed()
	defer log.stop()
	log.each = func() {
		c := log.fold.Cluster
		said := a.hashes[c.Sequence]
		if len(said) == 0 {
			return
		}
		compared++
		hash := c.Hash()
		for other, by := range said {
			if other != hash {
				wrong = append(wrong, fmt.Sprintf("at log sequence %d %s had the state %s, and the log gives %s", c.Sequence, by, other, hash))
			}
		}
	}
	for before := uint64(0); ; before = log.fold.Last() {
		if err = log.follow(ctx, b); err == nil || log.fold.Last() == before {
			return wrong, compared, err // else the log is long, and a part of it was read in time
		}
	}
}
