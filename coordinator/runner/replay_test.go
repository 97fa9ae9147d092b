package runner_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/recorded"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestReplayEqualsLive decides rounds of drawn inputs and folds what they write: after each round both states must have
// one hash. No generation may ever be placed twice, and no port of a node be held twice.
func TestReplayEqualsLive(t *testing.T) {
	seeds := uint64(20)
	if recorded.Racing {
		seeds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := newGenerator(t, seed)
			for range 150 {
				g.round()
			}
		})
	}
}

// generator draws inputs of a small cluster, sensible and not, and keeps the live state and the fold beside each other.
type generator struct {
	*testing.T
	draw     *rand.Rand
	now      time.Time
	live     *projections.Cluster
	work     *coordinator.WorkQueue
	fold     *projections.Fold
	commands uint64
	adopted  int
	placed   map[events.InstanceID]bool
}

func newGenerator(t *testing.T, seed uint64) *generator {
	live := projections.NewCluster()
	return &generator{
		T: t, draw: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		live: live, work: coordinator.NewWorkQueue(live), fold: projections.NewFold(), placed: map[events.InstanceID]bool{},
	}
}

func (g *generator) round() {
	g.now = g.now.Add(time.Duration(g.draw.IntN(60_000)) * time.Millisecond)
	turn := coordinator.NewTurn(g.live, g.work, g.now)
	if !g.live.Founded() || g.draw.IntN(60) == 0 {
		g.adopt(turn)
	}
	for range g.draw.IntN(8) {
		g.input(turn)
	}
	turn.Due()
	turn.Look()
	g.seal(turn)
	g.check(turn.Records)
}

func (g *generator) adopt(turn *coordinator.Turn) {
	g.adopted++
	turn.Found(events.ClusterAdopted{Commands: g.commands, Streams: map[string]string{
		"ROOKERY_LOG": "log", "ROOKERY_COMMANDS": fmt.Sprint("commands-", g.adopted/2),
	}}, 0)
}

// seal writes the round, and passes it to the live state and to the fold.
func (g *generator) seal(turn *coordinator.Turn) {
	g.Helper()
	after := g.live.Sequence
	round, err := runner.Seal(turn.Records, events.RoundClosed{
		Round: g.live.Round + 1, Epoch: 1, Leader: "test", Now: g.now, Commands: g.commands,
		CommandsKept: max(g.live.CommandsKept, g.commands-min(g.commands, 40)),
	}, g.live.LogID(), after, g.live.Chain, nil)
	if err != nil {
		g.Fatal(err)
	}
	for i, m := range round.Messages {
		m.Sequence = after + uint64(i) + 1
		if _, err := g.fold.Take(m); err != nil {
			g.Fatal(err)
		}
	}
	g.live.Close(after+uint64(len(round.Messages)), round.Closed, round.Chain)
	if live, folded := g.live.Hash(), g.fold.Cluster.Hash(); live != folded {
		g.Fatalf("after round %d the live state has hash %s and the fold %s", g.live.Round, live, folded)
	}
}

func (g *generator) check(records []events.Record) {
	g.Helper()
	for _, r := range records {
		if placed, ok := r.Data.(events.InstancePlaced); ok {
			service, _ := r.Scope.Service()
			id := events.InstanceID{Service: service, Ordinal: placed.Ordinal, Generation: placed.Generation}
			if g.placed[id] {
				g.Fatalf("%s is placed a second time", id)
			}
			g.placed[id] = true
		}
	}
	held := map[string]events.InstanceID{}
	count := map[string]int{}
	for i := range g.instances() {
		count[i.Node]++
		for _, p := range i.Ports {
			port := fmt.Sprint(i.Node, ":", p.HostPort)
			if other, taken := held[port]; taken {
				g.Fatalf("%s and %s hold port %s", other, i.ID, port)
			}
			held[port] = i.ID
		}
	}
	for name, n := range g.live.Nodes {
		if n.Instances() != count[name] {
			g.Fatalf("node %s counts %d instances and has %d", name, n.Instances(), count[name])
		}
	}
}

// instances yields every instance in a fixed order, so that one seed draws one history.
func (g *generator) instances() func(func(*projections.Instance) bool) {
	return func(yield func(*projections.Instance) bool) {
		for _, id := range slices.SortedFunc(maps.Keys(g.live.Services), events.ServiceID.Compare) {
			for i := range g.live.Services[id].Instances() {
				if !yield(i) {
					return
				}
			}
		}
	}
}

func (g *generator) input(turn *coordinator.Turn) {
	node := fmt.Sprintf("node-%d", g.draw.IntN(4))
	switch g.draw.IntN(12) {
	case 0, 1, 2:
		g.command(turn)
	case 3:
		turn.Status(1, events.Status{Node: node, Hello: &events.Hello{
			Incarnation: fmt.Sprint(g.draw.IntN(20)),
			NodeFacts:   events.NodeFacts{Address: "10.0.0.1", Ports: events.PortRange{First: 20_000, Last: 20_007}},
		}})
	case 4:
		turn.Silent(node)
	case 5, 6:
		turn.Returned(node)
	case 7:
		turn.Status(1, events.Status{Node: node, List: &events.InstanceList{
			Epoch: g.epoch(node), Instances: []events.InstanceState{g.state(), g.state()}, Last: true,
		}})
	default:
		s := g.state()
		if i := turn.Cluster.Instance(s.ID()); i != nil && g.draw.IntN(5) > 0 {
			node, s.Epoch = i.Node, g.epoch(i.Node)
		}
		turn.Status(1, events.Status{Node: node, Instance: &events.InstanceStatus{InstanceState: s}})
	}
}

func (g *generator) epoch(node string) uint64 {
	if n := g.live.Nodes[node]; n != nil {
		return n.Epoch
	}
	return 1
}

func (g *generator) command(turn *coordinator.Turn) {
	bodies := [][2]string{
		{"ensure", fmt.Sprintf(`{"image":"web:%d","scale":%d,"busy":"supersede","ports":[{"name":"http","port":80}]}`, g.draw.IntN(3), g.draw.IntN(5))},
		{"ensure", fmt.Sprintf(`{"image":"web:%d"}`, g.draw.IntN(3))},
		{"scale", fmt.Sprintf(`{"scale":%d}`, g.draw.IntN(6))},
		{"drop", `{}`},
		{"scale", `{"scale":-1}`},
	}
	chosen := bodies[g.draw.IntN(len(bodies))]
	g.commands++
	m := events.Message{Subject: events.CommandSubject(g.service(), chosen[0]), Body: []byte(chosen[1]), Sequence: g.commands}
	if g.draw.IntN(3) == 0 {
		m.Header = events.Header{
			"ce-specversion": {"1.0"}, "ce-id": {fmt.Sprint(g.draw.IntN(30))}, "ce-source": {"/test"},
			"ce-type": {"io.rookery.service.v1." + chosen[0]},
		}
	}
	turn.Command(events.ParseRequest(m))
}

func (g *generator) service() events.ServiceID {
	return events.ServiceID{Namespace: "demo", Name: fmt.Sprintf("s%d", g.draw.IntN(3))}
}

// state draws what a node may say: mostly of an instance that there is, and further than what is known.
func (g *generator) state() events.InstanceState {
	all := slices.Collect(g.instances())
	if len(all) == 0 || g.draw.IntN(6) == 0 {
		id := g.service()
		return events.InstanceState{
			Namespace: id.Namespace, Name: id.Name, Ordinal: uint32(g.draw.IntN(5)), Generation: uint32(g.draw.IntN(4)), Revision: 1,
			Position: events.Position{Epoch: 1, Phase: events.Phase(g.draw.IntN(7))},
		}
	}
	i := all[g.draw.IntN(len(all))]
	s := events.InstanceState{
		Namespace: i.ID.Service.Namespace, Name: i.ID.Service.Name, Ordinal: i.ID.Ordinal, Generation: i.ID.Generation,
		Revision: i.Revision, Position: i.Seen,
	}
	s.Epoch, s.Attempt, s.Phase = g.epoch(i.Node), s.Attempt+uint32(g.draw.IntN(2)), events.Phase(g.draw.IntN(7))
	if s.Phase == events.PhaseOffline {
		s.Reason = []events.OfflineReason{events.OfflineExited, events.OfflinePortConflict}[g.draw.IntN(2)]
	}
	return s
}
