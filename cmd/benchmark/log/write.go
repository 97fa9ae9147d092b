package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// The cluster: 10,000 instances, more or less, that change all the time.
const (
	nodes      = 100
	services   = 200
	mostScale  = 100
	keptBehind = 1000 // so many of the last commands are remembered
	leaderName = "writer"
	// roundTakes is how much time passes from round to round.
	roundTakes = time.Second
	// busy is how many statuses wait at most when other commands come, and atOnce how many of these come in one round.
	busy   = 2000
	atOnce = 12
)

// written is what a log came to.
type written struct {
	events, rounds uint64
	took           time.Duration
}

// writer closes rounds with the real decisions: clients change services, and nodes report that they carry out their orders.
type writer struct {
	ctx      context.Context //nolint:containedctx // of one run
	bus      *bus.JetStream
	cluster  *projections.Cluster
	work     *coordinator.WorkQueue
	draw     *rand.Rand
	now      time.Time
	commands uint64
	statuses uint64
	// said are statuses that wait, in order.
	said []events.Status
}

// write writes a log of at least so many events.
func write(ctx context.Context, b *bus.JetStream, count int) (written, error) {
	c := projections.NewCluster()
	const ago = 90 * 24 * time.Hour
	w := &writer{
		ctx: ctx, bus: b, cluster: c, work: coordinator.NewWorkQueue(c), draw: rand.New(rand.NewPCG(1, 1)), now: time.Now().Add(-ago).UTC(),
	}
	began, shown := time.Now(), time.Now()
	if err := w.found(); err != nil {
		return written{}, err
	}
	for c.Sequence < uint64(count) { //nolint:gosec // not below 0
		if err := w.round(w.inputs); err != nil {
			return written{}, err
		}
		if now := time.Now(); now.Sub(shown) > 10*time.Second {
			shown = now
			fmt.Fprintf(os.Stderr, "%s: %d of %d events are written\n", now.Sub(began).Round(time.Second), c.Sequence, count)
		}
	}
	return written{c.Sequence, c.Round, time.Since(began)}, nil
}

// found founds the cluster on the streams as they are, and lets the nodes join.
func (w *writer) found() error {
	states, err := runner.States(w.ctx, w.bus)
	if err != nil {
		return err
	}
	if err := w.round(func(t *coordinator.Turn) { t.Found(*runner.Adoption(states), 0) }); err != nil {
		return err
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%03d", i)
		w.said = append(w.said, events.Status{Node: name, Hello: &events.Hello{Incarnation: "i-" + name, NodeFacts: events.NodeFacts{
			Address: fmt.Sprintf("10.0.0.%d", i+1), Capacity: events.Capacity{CPU: 64, Memory: 256 << 30, Disk: 1 << 40},
			Ports: events.PortRange{First: 20_000, Last: 29_999},
		}}})
	}
	return nil
}

// inputs are those of one round: what nodes say, and commands where they are not busy.
func (w *writer) inputs(t *coordinator.Turn) {
	t.Fill(func() {
		for len(w.said) > 0 {
			t.Status(w.statuses+1, w.said[0])
			w.statuses, w.said = w.statuses+1, w.said[1:]
		}
		for i := 0; i < atOnce && len(w.said) < busy; i++ {
			w.commands++
			t.Command(w.command())
		}
	})
	t.Due()
}

// command draws a command as a client may send it: mostly another scale, often another image, at times the deletion of a service.
func (w *writer) command() events.Request {
	id := events.ServiceID{Namespace: "demo", Name: fmt.Sprintf("s%d", w.draw.IntN(services))}
	scale := w.draw.IntN(mostScale)
	verb, body := "ensure", fmt.Sprintf(`{"image":"localhost/web:%d","scale":%d,"busy":"supersede","ports":[{"name":"http","port":8080}]}`, w.draw.IntN(100), scale)
	switch n := w.draw.IntN(10); {
	case w.cluster.Services[id] == nil:
	case n < 5:
		verb, body = "scale", fmt.Sprintf(`{"scale":%d}`, scale)
	case n == 9:
		verb, body = "drop", `{}`
	}
	return events.ParseRequest(events.Message{Subject: events.CommandSubject(id, verb), Body: []byte(body), Sequence: w.commands})
}

// round decides a round and appends it as one batch.
func (w *writer) round(inputs func(*coordinator.Turn)) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.now = w.now.Add(roundTakes)
	turn := coordinator.NewTurn(w.cluster, w.work, w.now)
	inputs(turn)
	turn.Look()
	if len(turn.Records) == 0 {
		return nil
	}
	c := w.cluster
	round, err := runner.Seal(turn.Records, events.RoundClosed{
		Round: c.Round + 1, Epoch: 1, Leader: leaderName, Now: w.now, CommandsKept: w.commands - min(w.commands, keptBehind), Policy: 1,
	}, c.LogID(), c.Sequence, c.Chain, nil)
	if err != nil {
		return err
	}
	last, err := w.bus.Append(w.ctx, bus.Log, c.Sequence, round.Messages)
	if err != nil {
		return err
	}
	c.Close(last, round.Closed, round.Chain)
	for _, r := range turn.Records {
		w.follow(r)
	}
	return nil
}

// follow makes the node of an instance carry out the decision and report that it has.
func (w *writer) follow(r events.Record) {
	service, _ := r.Scope.Service()
	id, phases := events.InstanceID{Service: service}, []events.Phase{events.PhasePrepared, events.PhaseStarted, events.PhaseOnline}
	switch d := r.Data.(type) {
	case events.InstancePlaced:
		id.Ordinal, id.Generation = d.Ordinal, d.Generation
	case events.InstanceRetired:
		id.Ordinal, id.Generation = d.Ordinal, d.Generation
		phases = []events.Phase{events.PhaseStopped, events.PhaseRemoved}
	default:
		return
	}
	i := w.cluster.Instance(id)
	if i == nil {
		return
	}
	for _, phase := range phases {
		w.said = append(w.said, events.Status{Node: i.Node, Instance: &events.InstanceStatus{InstanceState: events.InstanceState{
			Namespace: service.Namespace, Name: service.Name, Ordinal: id.Ordinal, Generation: id.Generation, Revision: i.Revision,
			Position: events.Position{Epoch: w.cluster.Nodes[i.Node].Epoch, Phase: phase},
		}}})
	}
}
