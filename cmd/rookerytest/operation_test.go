package rookerytest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// TestCoordinatorKilledInOperations kills the coordinator's process with SIGKILL fifty times, each time in the middle of
// another operation, and starts another: every operation ends as if nothing had happened, and no slot begins a phase before
// all of its wave are done with the one before.
func TestCoordinatorKilledInOperations(t *testing.T) {
	t.Parallel()
	kills, clusters := 50, 2
	if testing.Short() {
		kills, clusters = 3, 1
	}
	for i := range clusters {
		t.Run(fmt.Sprintf("cluster %d", i+1), func(t *testing.T) {
			t.Parallel()
			killInOperations(t, kills/clusters)
		})
	}
}

func killInOperations(t *testing.T, kills int) {
	t.Helper()
	random := seed(t)
	cluster := startCluster(t, rookerytest.WithoutCoordinator())
	leader := startCoordinator(t, cluster)
	const scale = 4
	var commands []uint64
	ask := func(verb, body string) uint64 {
		commands = append(commands, cluster.Publish("demo/web", verb, body))
		return commands[len(commands)-1]
	}
	cluster.Outcome(ask("ensure", fmt.Sprintf(`{"image":"localhost/web:0","scale":%d}`, scale)))
	cluster.Outcome(ask("ensure", `{"image":"localhost/web:1","update":{"min_healthy":"0s"}}`))
	kv := func(verb, body string) uint64 {
		commands = append(commands, cluster.Publish("demo/kv", verb, body))
		return commands[len(commands)-1]
	}
	cluster.Outcome(kv("ensure", `{"image":"localhost/kv:1","update":{"min_healthy":"0s"},"topology":{},"hooks":{"release":{"exec":["a"]},"acquire":{"exec":["b"]},`+
		`"snapshot":{"exec":["c"]}},"volumes":[{"name":"data","path":"/data","state":true}]}`))
	for n := range kills {
		verb, body := drawOperation(random, n)
		seen, err := cluster.Bus().Subscribe(events.EventRoot + ".service.>")
		if err != nil {
			t.Fatal(err)
		}
		var sequence uint64
		switch n % 8 {
		case 0, 2:
			verb, body = "scale", fmt.Sprintf(`{"scale":%d}`, 2+n%5)
			sequence = kv(verb, body)
		case 4:
			verb, body = "snapshot", `{}`
			sequence = kv(verb, body)
		case 5:
			verb, body = "suspend", `{}`
			sequence = kv(verb, body)
		case 6: // of what was suspended just now
			verb, body = "resume", `{}`
			sequence = kv(verb, body)
		default:
			sequence = ask(verb, body)
		}
		awaitEvents(t, leader, seen, sequence, random.IntN(scale*8))
		seen.Stop()
		leader.kill()
		tally.kills.Add(1)
		leader = startCoordinator(t, cluster)
		if outcome := cluster.Outcome(sequence); outcome.Outcome != "succeeded" {
			t.Errorf("%s %s ended as %+v", verb, body, outcome)
		}
	}
	h := readHistory(t, cluster)
	h.checkCommands(t, commands)
	checkActual(t, cluster, h.cluster)
	operations, barriers := checkPhases(t, cluster)
	t.Logf("operations %d, barriers %d, kills %d", operations, barriers, kills)
	if operations < kills/2 {
		t.Errorf("%d kills met %d operations", kills, operations)
	}
	cluster.CheckReplay()
}

// drawOperation draws what is asked of a service of which one operation has ended.
func drawOperation(random *rand.Rand, n int) (verb, body string) {
	switch random.IntN(6) {
	case 0:
		return "restart", `{}`
	case 1:
		return "rollback", `{}`
	}
	ways := []string{
		`"parallelism":2`, `"order":"stop-first"`, `"strategy":"recreate"`, `"strategy":"barrier"`, `"canaries":1,"promote":"auto","parallelism":3`, `"parallelism":4,"order":"stop-first"`,
	}
	return "ensure", fmt.Sprintf(`{"image":"localhost/web:%d","update":{"min_healthy":"0s",%s}}`, n+2, ways[random.IntN(len(ways))])
}

// phase is where an operation of a service stands, as the log has it.
type phase struct {
	revision uint64
	spec     events.Spec
	keeps    []uint64
	slots    events.Ordinals
	waiting  events.Ordinals
	in       events.OperationPhase
	attempt  uint32
	// started is the operation's name, kind what it is, and rescale what topology it brings; nil for none.
	started uint64
	kind    events.OperationKind
	// silent are the nodes that send no heartbeats.
	silent  map[string]bool
	rescale *events.Rescale
}

// incarnation is what the log has of an instance.
type incarnation struct {
	node            string
	revision        uint64
	online, removed bool
	answered        events.Confirmation
}

// checkPhases holds the log to P6. No phase begins before every slot of the wave has confirmed the previous phase, and no slot gets its
// next instance before its wave. A phase does not wait for what is left on nodes that are silent. checkPhases returns how many operations
// and barriers there were.
func checkPhases(t *testing.T, cluster *rookerytest.Cluster) (operations, barriers int) {
	t.Helper()
	all, at, revised, silent := map[events.InstanceID]incarnation{}, map[events.ServiceID]*phase{}, map[events.ServiceID]events.ServiceRevised{}, map[string]bool{}
	cluster.Replay(func(records []events.Record) {
		for _, r := range records {
			id, _ := r.Scope.Service()
			instance := func(ordinal, generation uint32) events.InstanceID {
				return events.InstanceID{Service: id, Ordinal: ordinal, Generation: generation}
			}
			node, _ := r.Scope.Node()
			switch d := r.Data.(type) {
			case events.NodeSilent:
				silent[node] = true
			case events.NodeReturned, events.NodeJoined:
				silent[node] = false
			case events.ServiceRevised:
				revised[id] = d
			case events.OperationStarted:
				operations++
				at[id] = &phase{started: r.Sequence, kind: d.Operation, silent: silent, revision: d.Revision, spec: revised[id].Spec, keeps: revised[id].Keeps, waiting: d.Slots, rescale: d.Rescale}
			case events.Answer:
				a := d.Asked()
				i := all[instance(a.Ordinal, a.Generation)]
				i.answered = a.Confirmation
				all[instance(a.Ordinal, a.Generation)] = i
			case events.OperationEntered:
				barriers++
				at[id].passed(t, r.Sequence, all, id, d.GivenUp)
				at[id].enter(d)
			case events.OperationEnded:
				if d.Outcome == events.OperationDone {
					at[id].passed(t, r.Sequence, all, id, d.GivenUp)
				}
				delete(at, id)
			case events.InstancePlaced:
				if p := at[id]; p != nil && d.Revision == p.revision && slices.Contains(p.waiting, d.Ordinal) {
					t.Errorf("at %d slot %d gets revision %d before its wave", r.Sequence, d.Ordinal, d.Revision)
				}
				all[instance(d.Ordinal, d.Generation)] = incarnation{node: d.Node, revision: d.Revision}
			case events.Sighting:
				s := d.Seen()
				i := all[instance(s.Ordinal, s.Generation)]
				i.online, i.removed = s.Phase == events.PhaseOnline, s.Phase == events.PhaseRemoved
				all[instance(s.Ordinal, s.Generation)] = i
			}
		}
	})
	tally.operations.Add(int64(operations))
	return operations, barriers
}

func (p *phase) enter(d events.OperationEntered) {
	p.in, p.attempt = d.Phase, d.Attempt
	if len(d.Slots) > 0 {
		p.slots = d.Slots
		p.waiting = slices.DeleteFunc(slices.Clone(p.waiting), func(o uint32) bool { return slices.Contains(d.Slots, o) })
	}
}

// passed holds every slot of the wave to be done with the phase.
func (p *phase) passed(t *testing.T, sequence uint64, all map[events.InstanceID]incarnation, id events.ServiceID, givenUp events.Ordinals) {
	t.Helper()
	for _, slot := range p.slots {
		if !slices.Contains(givenUp, slot) && !p.done(all, id, slot) {
			tally.broken.Add(1)
			t.Errorf("at %d phase %s is over, and slot %d is not done with it", sequence, p.in, slot)
		}
	}
}

// done reports whether the slot is done with the phase.
func (p *phase) done(all map[events.InstanceID]incarnation, id events.ServiceID, slot uint32) bool {
	serves, remains, answered := false, false, false
	for of, i := range all {
		if of.Service == id && of.Ordinal == slot {
			serves = serves || (i.online && (p.rescale != nil || i.revision == p.revision))
			whole := p.rescale != nil || p.kind == events.OperationSuspend
			remains = remains || (!i.removed && !p.silent[i.node] && (whole || i.revision != p.revision && !slices.Contains(p.keeps, i.revision)))
			asked := events.Confirmation{Operation: p.started, Attempt: p.attempt, Phase: p.in}
			answered = answered || i.answered == asked || i.answered.Above(asked)
		}
	}
	stays := p.rescale == nil || slot < p.rescale.To
	switch p.in {
	case events.OperationStart:
		return serves || !stays
	case events.OperationRelease, events.OperationAcquire, events.OperationHold, events.OperationExport:
		return answered || !p.asks()
	case events.OperationRetire:
		return !remains || (p.rescale != nil && stays)
	case events.OperationPrepare, events.OperationMonitor, events.OperationPromote, events.OperationDelay, events.OperationWait:
	}
	return true
}

// asks reports whether instances have something to do in the phase.
func (p *phase) asks() bool {
	return p.spec.Hook(p.in) != nil || (p.in == events.OperationExport && len(p.spec.StateVolumes()) > 0)
}
