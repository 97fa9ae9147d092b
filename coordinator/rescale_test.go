package coordinator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestNobodySlipsPastABarrier rescales services a thousand times, under each policy, while their instances answer in any order:
// fast ones before slow ones have begun. Some refuse, or die in any phase and return. It checks that no phase begins before
// every slot has answered in the phase before or was given up. It also checks that every command ends once, and that slots that
// were given up are taken back.
func TestNobodySlipsPastABarrier(t *testing.T) {
	outcomes := map[events.OperationOutcome]int{}
	for seed := range uint64(1000) {
		r := newRescaling(t, seed)
		r.play()
		for outcome, n := range r.outcomes {
			outcomes[outcome] += n
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for _, outcome := range []events.OperationOutcome{events.OperationDone, events.OperationAborted} {
		if outcomes[outcome] == 0 {
			t.Errorf("no operation of a thousand ended as %s: %v", outcome, outcomes)
		}
	}
}

// rescaling is a service whose scale changes, and what an observer knows of it.
type rescaling struct {
	*house
	dice
	id       events.ServiceID
	answers  map[uint32][]events.Confirmation // the given ones, by slot
	op       events.OperationStarted
	sequence uint64
	entered  events.OperationEntered
	givenUp  events.Ordinals // in any phase of the operation
	topology events.Topology
	ended    int // commands
	outcomes map[events.OperationOutcome]int
}

// dice are numbers that follow from a seed alone: SplitMix64, after Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators" (2014).
type dice uint64

// IntN returns a number from 0 to n-1.
func (d *dice) IntN(n int) int {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) >> 1 % uint64(n))
}

func newRescaling(t *testing.T, seed uint64) *rescaling {
	r := &rescaling{
		house: newHouse(t), dice: dice(seed), id: events.ServiceID{Namespace: "demo", Name: "kv"},
		answers: map[uint32][]events.Confirmation{}, outcomes: map[events.OperationOutcome]int{},
	}
	r.take(func(turn *coordinator.Turn) {
		turn.Status(1, events.Status{Node: "a", Hello: &events.Hello{Incarnation: "a", NodeFacts: events.NodeFacts{
			Address: "10.0.0.1", EngineFacts: events.EngineFacts{Engine: "test"}, Ports: events.PortRange{First: 20_000, Last: 20_999},
		}}})
	})
	return r
}

// take decides a round, and compares its events about the operation with the instances' answers.
func (r *rescaling) take(input func(*coordinator.Turn)) {
	r.t.Helper()
	r.round(func(turn *coordinator.Turn) {
		input(turn)
		turn.Look()
		for _, record := range turn.Records {
			r.hear(record)
		}
	})
}

func (r *rescaling) hear(record events.Record) {
	switch d := record.Data.(type) {
	case events.OperationStarted:
		r.op, r.sequence, r.entered, r.givenUp = d, record.Sequence, events.OperationEntered{}, nil
	case events.OperationEntered:
		r.givenUp = append(r.givenUp, d.GivenUp...)
		if d.Phase != r.entered.Phase {
			r.passed()
		}
		r.entered = d
	case events.OperationEnded:
		r.outcomes[d.Outcome]++
	case events.TopologyChanged:
		if d.ConfigVersion < r.topology.ConfigVersion || (d.ConfigVersion == r.topology.ConfigVersion && d.Scale != r.topology.Scale) {
			r.t.Errorf("topology %+v follows %+v", d, r.topology)
		}
		r.topology = d.Topology
	case events.CommandSucceeded, events.CommandFailed:
		r.ended++
	}
}

// passed checks that every slot has answered in the phase that is over, or was given up.
func (r *rescaling) passed() {
	if r.entered.Phase != events.OperationRelease && r.entered.Phase != events.OperationAcquire {
		return
	}
	wanted := events.Confirmation{Operation: r.sequence, Attempt: r.entered.Attempt, Phase: r.entered.Phase}
	for _, slot := range r.op.Slots {
		if !slices.Contains(r.answers[slot], wanted) && !slices.Contains(r.givenUp, slot) {
			r.t.Errorf("phase %s of operation %d is over, and slot %d has not answered", r.entered.Phase, r.sequence, slot)
		}
	}
}

func (r *rescaling) ask(verb, body string) {
	r.input++
	m := events.Message{Subject: events.CommandSubject(r.id, verb), Sequence: r.input, Body: []byte(body), Header: events.Header{}}
	r.take(func(turn *coordinator.Turn) { turn.Command(events.ParseRequest(m)) })
}

func (r *rescaling) play() {
	const most, deadline = 6, 10 * time.Second
	policy := []events.RescaleFailure{events.RescaleAbort, events.RescaleRetry, events.RescaleContinue}[r.IntN(3)]
	scale := 1 + r.IntN(most)
	r.ask("ensure", fmt.Sprintf(`{"image":"localhost/kv:1","scale":%d,"update":{"min_healthy":"0s","healthy_deadline":"%s"},`+
		`"topology":{"on_failure":%q},"hooks":{"release":{"exec":["a"]},"acquire":{"exec":["b"]}}}`, scale, deadline, policy))
	r.until(1, 0)
	first := r.topology
	next := 1 + (scale+r.IntN(most-1))%most
	r.ask("scale", fmt.Sprintf(`{"scale":%d}`, next))
	r.until(2, r.IntN(8))
	r.until(2, 0) // slots that were given up are taken back
	for len(r.cluster.Operating()) > 0 {
		r.step(0)
	}
	s := r.cluster.Services[r.id]
	if s.Topology.Change != nil || s.Topology.Scale != s.Scale || !s.Settled() || (next != scale && s.Topology.ConfigVersion == first.ConfigVersion && s.Scale == uint32(next)) {
		r.t.Errorf("at the end the topology is %+v, and the scale %d", s.Topology, s.Scale)
	}
}

// until takes steps until this many commands have ended. Of a hundred steps, this many are misfortunes.
func (r *rescaling) until(commands, misfortunes int) {
	const steps = 2000
	for range steps {
		if r.ended >= commands {
			return
		}
		r.step(misfortunes)
	}
	r.t.Fatalf("%d commands have ended after %d steps, want %d", r.ended, steps, commands)
}

// step lets one instance do its next step, or some time pass.
func (r *rescaling) step(misfortunes int) {
	var all []*projections.Instance
	s := r.cluster.Services[r.id]
	for i := range s.Instances() {
		if i.Retired() != "" || i.Seen.Phase != events.PhaseOnline || s.Asked(i) != nil {
			all = append(all, i)
		}
	}
	if len(all) == 0 || r.IntN(20) == 0 {
		r.now = r.now.Add(time.Duration(1+r.IntN(4)) * time.Second)
		r.take((*coordinator.Turn).Due)
		return
	}
	i := all[r.IntN(len(all))]
	state := events.InstanceState{
		Namespace: r.id.Namespace, Name: r.id.Name, Ordinal: i.ID.Ordinal, Generation: i.ID.Generation,
		Position: events.Position{Epoch: 1, Attempt: i.Seen.Attempt, Phase: events.PhaseOnline},
	}
	unlucky := r.IntN(100) < misfortunes
	switch asked := s.Asked(i); {
	case i.Retired() != "":
		state.Phase = events.PhaseRemoved
	case i.Seen.Phase == events.PhaseOffline:
		state.Attempt++
	case unlucky && r.IntN(2) == 0:
		state.Phase, state.Reason = events.PhaseOffline, events.OfflineExited
	case asked != nil && i.Seen.Phase == events.PhaseOnline:
		answer := events.Confirmation{Operation: asked.Operation, Attempt: asked.Attempt, Phase: asked.Phase}
		if unlucky {
			answer.Refused = "no"
		}
		r.answers[i.ID.Ordinal] = append(r.answers[i.ID.Ordinal], answer)
		state.Confirmed = &answer
	}
	r.take(func(turn *coordinator.Turn) {
		turn.Status(1, events.Status{Node: i.Node, Instance: &events.InstanceStatus{InstanceState: state}})
	})
}
