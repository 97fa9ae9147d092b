package rookerytest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	coordinatorrunner "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// BenchmarkDecisions measures how fast 50,000 placements are decided and committed to the log, beside bare batches of
// 1,000 messages of the same size.
func BenchmarkDecisions(b *testing.B) {
	const nodes, services, scale = 100, 10, 5000
	for b.Loop() {
		ours, placed := decide(b, nodes, services, scale)
		rates(b, "placements", services*scale, ours, batches(b, placed, services*scale))
	}
}

// decide returns how long it took from the first command until every placement was in the log, and one of these.
func decide(b *testing.B, nodes, services, scale int) (time.Duration, events.Message) {
	b.Helper()
	h := newHouse(b, false)
	defer h.close()
	client := h.connect()
	joined := joining(b, client, nodes)
	h.coordinator(time.Hour)
	for i := range nodes {
		h.hello(client, nodeName(i))
	}
	joined()
	for i := range services {
		command(b, client, serviceName(i), "ensure", `{"image":"localhost/web:1","scale":0,"ports":[{"name":"http","port":8080}]}`)
	}
	state := h.settled(client, services)
	rounds := subscribe(b, client, events.EventRoot+".round")
	began := time.Now()
	for i := range services {
		command(b, client, serviceName(i), "scale", fmt.Sprintf(`{"scale":%d}`, scale))
	}
	const other = 2 // events of each command beside placements: accepted, scaled
	want := state.Sequence - state.Round + uint64(services*(scale+other))
	for {
		m := receive(b, rounds)
		closed, _, err := events.DecodeAs[events.RoundClosed](m)
		if err != nil {
			b.Fatal(err)
		}
		if m.Sequence-closed.Round >= want {
			break
		}
	}
	took := time.Since(began)
	return took, h.placed(client)
}

// settled waits until the coordinator has this many services and no open command.
func (h *house) settled(on *bus.JetStream, services int) api.ClusterState {
	h.b.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(benchPatience)
	for {
		state, err := h.ask(on)
		if err == nil && state.Services == services && state.Open == 0 {
			return state
		}
		select {
		case <-ticker.C:
		case <-deadline:
			h.b.Fatalf("gave up: the state is %+v, %v", state, err)
		}
	}
}

// placed returns one of the placements in the log.
func (h *house) placed(on bus.Bus) events.Message {
	h.b.Helper()
	reader, err := on.Read(h.b.Context(), bus.Log, 1)
	if err != nil {
		h.b.Fatal(err)
	}
	defer reader.Stop()
	for {
		m := receive(h.b, reader.Messages())
		if _, _, err := events.DecodeAs[events.InstancePlaced](m); err == nil {
			return again(m)
		}
	}
}

// batches returns how long it takes to append count messages like this one in bare batches, one at a time.
func batches(b *testing.B, like events.Message, count int) time.Duration {
	b.Helper()
	h := newHouse(b, false)
	defer h.close()
	client := h.connect()
	batch := slices.Repeat([]events.Message{like}, bus.MaxBatch)
	last := uint64(0)
	began := time.Now()
	for range count / bus.MaxBatch {
		for i := range batch {
			batch[i] = again(like) // a batch writes its own headers into each message
		}
		var err error
		if last, err = client.Append(b.Context(), bus.Log, last, batch); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// BenchmarkFold measures how fast a stored log of 300,000 events is read and folded, beside a reader that only counts.
func BenchmarkFold(b *testing.B) {
	const nodes, services, scale, times = 100, 75, 1000, 3
	h := newHouse(b, false)
	client := h.connect()
	d := newDecider(nodes)
	d.append = func(round coordinatorrunner.Round) {
		if _, err := client.Append(b.Context(), bus.Log, d.cluster.Sequence, round.Messages); err != nil {
			b.Fatal(err)
		}
	}
	d.found(b)
	for i := range services {
		d.place(b, serviceName(i), scale)
		d.online(b, serviceName(i))
	}
	for b.Loop() {
		var ours, bare []time.Duration
		for range times {
			fold := projections.NewFold()
			ours = append(ours, read(b, client, d.cluster.Sequence, func(m events.Message) {
				if _, err := fold.Take(m); err != nil {
					b.Fatal(err)
				}
			}))
			if fold.Cluster.Chain != d.cluster.Chain {
				b.Fatal("the fold is another state than the one that was decided")
			}
			bare = append(bare, read(b, client, d.cluster.Sequence, func(events.Message) {}))
		}
		rates(b, "events", int(d.cluster.Sequence), middle(ours), middle(bare))
	}
}

// read reads the log from its beginning to the sequence, and returns how long it took.
func read(b *testing.B, from bus.Bus, last uint64, take func(events.Message)) time.Duration {
	b.Helper()
	began := time.Now()
	reader, err := from.Read(b.Context(), bus.Log, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer reader.Stop()
	for m := range reader.Messages() {
		take(m)
		if m.Sequence == last {
			return time.Since(began)
		}
	}
	b.Fatal("the reader ended")
	return 0
}

// decider closes rounds with the real decisions and no loop around them.
type decider struct {
	cluster  *projections.Cluster
	work     *coordinator.WorkQueue
	nodes    int
	commands uint64
	statuses uint64
	now      time.Time
	accounts bool           // the log has the sender of each command
	signer   *events.Signer // nil where rounds are not signed; else with accounts
	// append stores a round behind the cluster's last sequence; nil where nothing is to be sealed.
	append func(coordinatorrunner.Round)
}

func newDecider(nodes int) *decider {
	c := projections.NewCluster()
	return &decider{cluster: c, work: coordinator.NewWorkQueue(c), nodes: nodes, now: time.Unix(1_800_000_000, 0).UTC()}
}

// round decides one round. It reports whether it had anything to say.
func (d *decider) round(b *testing.B, inputs func(*coordinator.Turn)) bool {
	b.Helper()
	d.now = d.now.Add(time.Millisecond)
	turn := coordinator.NewTurn(d.cluster, d.work, d.now)
	turn.Fill(func() { inputs(turn) })
	turn.Look()
	if len(turn.Records) == 0 {
		return false
	}
	closed := events.RoundClosed{
		Round: d.cluster.Round + 1, Epoch: 1, Leader: "bench", Now: d.now, Commands: d.commands, Statuses: d.statuses, Policy: 1,
	}
	last := d.cluster.Sequence + uint64(len(turn.Records)) + 1
	if d.append == nil {
		d.cluster.Close(last, closed, events.Chain{})
		return true
	}
	round, err := coordinatorrunner.Seal(turn.Records, closed, d.cluster.LogID(), d.cluster.Sequence, d.cluster.Chain, d.signer)
	if err != nil {
		b.Fatal(err)
	}
	d.append(round)
	d.cluster.Close(last, round.Closed, round.Chain)
	return true
}

// found founds the cluster and lets the nodes join.
func (d *decider) found(b *testing.B) {
	b.Helper()
	d.round(b, func(t *coordinator.Turn) {
		streams := map[bus.Stream]bus.State{}
		for _, s := range bus.Streams {
			streams[s] = bus.State{Identity: "0123456789abcdefghijkl"}
		}
		adopted := *coordinatorrunner.Adoption(streams)
		adopted.Accounts = d.accounts
		t.Found(adopted, 0)
		t.Signs(d.signer.Key())
	})
	for i := 0; i < d.nodes; {
		d.round(b, func(t *coordinator.Turn) {
			for ; i < d.nodes; i++ {
				t.Status(d.statuses+1, events.Status{
					Node: nodeName(i), Program: events.Program{Levels: events.OwnLevels}, Hello: &events.Hello{Incarnation: "i-" + nodeName(i), NodeFacts: facts(20_000)},
				})
				d.statuses++
			}
		})
	}
}

// place ensures the service at this scale and closes rounds until every instance is placed.
func (d *decider) place(b *testing.B, service string, scale int) {
	b.Helper()
	d.commands++
	subject := events.CommandSubject(events.ServiceID{Namespace: "demo", Name: service}, "ensure")
	if d.accounts {
		subject = events.CommandBy("bench", subject)
	}
	request := events.ParseRequest(events.Message{
		Subject:  subject,
		Body:     fmt.Appendf(nil, `{"image":"localhost/web:1","scale":%d,"ports":[{"name":"http","port":8080}]}`, scale),
		Sequence: d.commands,
	})
	d.round(b, func(t *coordinator.Turn) { t.Command(request) })
	for d.round(b, func(*coordinator.Turn) {}) {
	}
	if s := d.cluster.Services[events.ServiceID{Namespace: "demo", Name: service}]; s == nil || s.Filled() != scale {
		b.Fatalf("%s is not placed: %+v", service, request.Rejection)
	}
}

// online brings every instance of the service to online, with the statuses that its node would send.
func (d *decider) online(b *testing.B, service string) {
	b.Helper()
	var all []events.Status
	for i := range d.cluster.Services[events.ServiceID{Namespace: "demo", Name: service}].Instances() {
		for phase := events.PhasePrepared; phase <= events.PhaseOnline; phase++ {
			all = append(all, events.Status{Node: i.Node, Instance: &events.InstanceStatus{InstanceState: events.InstanceState{
				Namespace: "demo", Name: service, Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Revision: i.Revision,
				Position: events.Position{Epoch: 1, Phase: phase},
			}}})
		}
	}
	for len(all) > 0 {
		d.round(b, func(t *coordinator.Turn) {
			for len(all) > 0 {
				t.Status(d.statuses+1, all[0])
				d.statuses, all = d.statuses+1, all[1:]
			}
		})
	}
}

// BenchmarkAppend measures the smallest round, one event and its closing message as one fenced atomic batch, beside
// the same two messages published plainly one after the other.
func BenchmarkAppend(b *testing.B) {
	const count = 500
	h := newHouse(b, false)
	client := h.connect()
	m := events.Message{Subject: events.LogRoot + ".bench", Body: make([]byte, 200)}
	for b.Loop() {
		var ours, bare []time.Duration
		for range count {
			state, err := client.State(b.Context(), bus.Log)
			if err != nil {
				b.Fatal(err)
			}
			began := time.Now()
			m.Header = events.Header{}
			last := events.Message{Subject: m.Subject, Body: m.Body, Header: events.Header{}}
			if _, err := client.Append(b.Context(), bus.Log, state.Last, []events.Message{m, last}); err != nil {
				b.Fatal(err)
			}
			ours = append(ours, time.Since(began))
			m.Header = nil
			began = time.Now()
			for range 2 {
				if _, err := client.Publish(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
			bare = append(bare, time.Since(began))
		}
		latencies(b, ours, bare)
	}
}
