package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

var (
	noon = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	web  = events.ServiceID{Namespace: "demo", Name: "web"}
)

// happened is an event of demo/web so many seconds after noon, that command 7 has led to.
func happened(seconds int, data events.Data) events.Record {
	return events.Record{
		Event: events.Event{Scope: events.ServiceScope(web), Data: data, Cause: events.Cause{Correlation: 7}},
		Time:  noon.Add(time.Duration(seconds) * time.Second),
	}
}

// begun is a state in which command 7 has begun at noon, and both slots of demo/web lack an instance since then.
func begun() *projections.Cluster {
	c := projections.NewCluster()
	s := &projections.Service{ID: web}
	for ordinal := range uint32(2) {
		s.Slots = append(s.Slots, &projections.Slot{Current: &projections.Instance{
			ID: events.InstanceID{Service: web, Ordinal: ordinal}, Times: projections.Times{Created: projections.Moment(noon.UnixMilli())},
		}})
	}
	c.Services[web] = s
	c.Commands[7] = &projections.Command{
		CommandIdentity: events.CommandIdentity{Sequence: 7, Verb: "ensure"}, Service: web, Outcome: projections.Accepted, Received: noon, Begun: noon,
	}
	return c
}

func TestTheFiguresOfARoundAreThoseOfItsEvents(t *testing.T) {
	f := newTally(projections.NewCluster()).of(begun(), []events.Record{
		happened(2, events.InstancePlaced{}),
		happened(2, events.InstancePlaced{Ordinal: 1}),
		happened(5, events.InstanceOnline{}),
		happened(6, events.InstanceOnline{InstanceSeen: events.InstanceSeen{Position: events.Position{Attempt: 1}}}),
		happened(6, events.InstanceOnline{InstanceSeen: events.InstanceSeen{Ordinal: 1, Position: events.Position{Attempt: 1}}}),
		happened(7, events.InstanceRetired{Reason: events.RetireMoved}),
		happened(7, events.InstanceRetired{Reason: events.RetireScaledDown}),
		happened(7, events.InstanceRetired{Reason: events.RetireDrained}),
		happened(8, events.InstanceLost{}),
		happened(9, events.CommandSucceeded{Sequence: 7}),
		happened(9, events.CommandRejected{CommandIdentity: events.CommandIdentity{Sequence: 8, Verb: "explode"}}),
	})
	if f.placed != 2 || f.moved != 1 || f.evicted[evictedDrain] != 1 || f.evicted[evictedLost] != 1 {
		t.Errorf("%d placed, %d moved, %v evicted", f.placed, f.moved, f.evicted)
	}
	want := []scheduling{{reachedPlaced, 2 * time.Second}, {reachedPlaced, 2 * time.Second}, {reachedOnline, 5 * time.Second}, {reachedOnline, 6 * time.Second}}
	if !slices.Equal(f.scheduled, want) {
		t.Errorf("scheduled %v, want %v: a restart is not a scheduling", f.scheduled, want)
	}
	if f.commands[commandEnd{"ensure", projections.Succeeded}] != 1 || f.commands[commandEnd{"other", projections.Rejected}] != 1 {
		t.Errorf("commands ended as %v", f.commands)
	}
}

// TestABarrierIsMeasuredFromTheFirstRoundOfAPhaseToTheLast takes one operation through rounds, and has another leader go on with it.
func TestABarrierIsMeasuredFromTheFirstRoundOfAPhaseToTheLast(t *testing.T) {
	c, tally := begun(), newTally(begun())
	tally.of(c, []events.Record{
		happened(0, events.OperationStarted{Operation: events.OperationRescale}),
		happened(0, events.OperationEntered{Wave: 1, Phase: events.OperationPrepare, Attempt: 1}),
	})
	tally.of(c, []events.Record{happened(3, events.InstancePrepared{})})
	tally.of(c, []events.Record{happened(4, events.InstanceOffline{})})
	f := tally.of(c, []events.Record{
		happened(7, events.InstancePrepared{}),
		happened(7, events.OperationEntered{Wave: 1, Phase: events.OperationStart, Attempt: 1}),
	})
	if len(f.crossed) != 1 || f.crossed[0].phase != events.OperationPrepare || f.crossed[0].lasted != 7*time.Second || *f.crossed[0].spread != 4*time.Second {
		t.Errorf("crossed %v, want prepare in 7 s, and 4 s from the first to the last", f.crossed)
	}
	f = tally.of(c, []events.Record{happened(9, events.OperationEntered{Wave: 1, Phase: events.OperationStart, Attempt: 2})})
	if len(f.crossed) > 0 {
		t.Errorf("a phase that is tried again was crossed: %v", f.crossed)
	}
	f = tally.of(c, []events.Record{happened(11, events.OperationEnded{Outcome: events.OperationAborted})})
	if len(f.crossed) > 0 || f.operations[operationEnd{events.OperationRescale, events.OperationAborted}] != 1 {
		t.Errorf("an operation that was aborted crossed %v and ended as %v", f.crossed, f.operations)
	}

	c.Services[web] = &projections.Service{ID: web, Operation: &projections.Operation{
		Kind: events.OperationUpdate, Phase: events.OperationRetire, Entered: noon,
	}}
	c.Operating()[web] = struct{}{}
	f = newTally(c).of(c, []events.Record{happened(5, events.OperationEnded{Outcome: events.OperationDone})})
	if want := []crossing{{events.OperationRetire, 5 * time.Second, nil}}; !slices.Equal(f.crossed, want) {
		t.Errorf("a leader that took over crossed %v, want %v: it does not know who was done first", f.crossed, want)
	}
}

func TestTheLagIsThatOfTheOldestThatWaits(t *testing.T) {
	var l lags
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for _, step := range []struct {
		last, decided uint64
		seconds       int
		want          lag
	}{
		{5, 5, 0, lag{}},
		{9, 5, 5, lag{4, 0}},
		{12, 6, 10, lag{6, 5 * time.Second}},
		{20, 9, 15, lag{11, 5 * time.Second}}, // what came by the second look waits still
		{20, 20, 20, lag{}},
		{21, 20, 25, lag{1, 0}},
	} {
		l.look(bus.Commands, step.last, step.decided, at(step.seconds))
		looks := 0
		for _, got := range l.each {
			looks++
			if got != step.want {
				t.Errorf("after %d s, with %d of %d decided, the lag is %v, want %v", step.seconds, step.decided, step.last, got, step.want)
			}
		}
		if looks != 1 {
			t.Errorf("after %d s %d streams are told, want 1", step.seconds, looks)
		}
	}
}

// TestLevelsAreBounded holds the number of series to its bound, and what they tell together to be all there is.
func TestLevelsAreBounded(t *testing.T) {
	c := projections.NewCluster()
	const services, scale = mostServicesMeasured + 50, 3
	for i := range services {
		id := events.ServiceID{Namespace: "demo", Name: fmt.Sprintf("s-%04d", i)}
		c.Services[id] = &projections.Service{ID: id, Scale: scale, Revision: 1, Revisions: map[uint64]*projections.Revision{1: {}}}
		c.Nodes[id.Name] = &projections.Node{Name: id.Name, Epoch: 1, Silent: i%2 == 0}
	}
	l := levelsOf(c, noon)
	desired, pending := 0, 0
	for _, s := range l.services {
		desired, pending = desired+s.desired, pending+s.pending
	}
	if len(l.services) != mostServicesMeasured+1 || desired != services*scale || pending != services*scale || l.pending[pendingUndecided] != services*scale {
		t.Errorf("%d series of services, with %d desired and %d pending: %v", len(l.services), desired, pending, l.pending)
	}
	// Silent nodes have no resources to offer.
	if len(l.machines) != mostNodesMeasured/2+1 || l.nodes[projections.NodeReady] != services/2 || l.nodes[projections.NodeSilent] != services/2 {
		t.Errorf("%d series of nodes, of which %v", len(l.machines), l.nodes)
	}
	if len(l.states) != mostNodesMeasured || l.states[0].state != projections.NodeSilent || l.states[services/2-1].state != projections.NodeSilent ||
		l.states[services/2].state != projections.NodeReady {
		t.Errorf("%d nodes are told by their state: %v", len(l.states), l.states)
	}
	// Beyond the bound, nodes that need an operator displace those that do not.
	for i := range services {
		c.Nodes[fmt.Sprintf("s-%04d", i)].Paused = true
	}
	if l = levelsOf(c, noon); l.states[services/2-1].state != projections.NodeSilent || l.states[services/2].state != projections.NodePaused {
		t.Errorf("beside those that are paused nodes are told by their state: %v", l.states)
	}
	if about := named(l.services[mostServicesMeasured].id); len(about) != 1 || about[0].Key != keyOverflow {
		t.Errorf("those beyond the bound are told as %v", about)
	}
}

// TestANodeThatWasDrainedMayGo tells a host that is switched off for its maintenance from one that fell silent.
func TestANodeThatWasDrainedMayGo(t *testing.T) {
	for _, row := range []struct {
		node projections.Node
		want projections.NodeState
	}{
		{projections.Node{Silent: true}, projections.NodeSilent},
		{projections.Node{Silent: true, Lost: true}, projections.NodeLost},
		{projections.Node{Drain: &projections.Drain{}}, projections.NodeDraining},
		{projections.Node{Drain: &projections.Drain{}, Silent: true}, projections.NodeSilent}, // with what it still has
		{projections.Node{Drain: &projections.Drain{Done: true}}, projections.NodeDrained},
		{projections.Node{Drain: &projections.Drain{Done: true}, Silent: true}, projections.NodeAway},
		{projections.Node{Drain: &projections.Drain{Done: true}, Silent: true, Lost: true}, projections.NodeAway},
		{projections.Node{Drain: &projections.Drain{Done: true}, Silent: true, Forgotten: true}, projections.NodeForgotten},
		{projections.Node{Silent: true, Lost: true, Revoked: true}, projections.NodeRevoked},
	} {
		if got := row.node.State(); got != row.want {
			t.Errorf("%+v is %s, not %s", row.node, got, row.want)
		}
	}
}

// TestSlotsThatServeAreOnline checks an update whose canary serves and waits for an operator, and a job in the middle of its work: all
// their slots count as online. Slots whose instance is offline do not count.
func TestSlotsThatServeAreOnline(t *testing.T) {
	begins := func(slot uint32) []events.Data {
		return []events.Data{events.InstancePlaced{Ordinal: slot, Generation: 1, Revision: 1, Node: "a"}}
	}
	seen := func(slot uint32, phase events.Phase) events.InstanceSeen {
		return events.InstanceSeen{Ordinal: slot, Generation: 1, Node: "a", Position: events.Position{Phase: phase}}
	}
	serves := func(slot uint32) []events.Data {
		return append(begins(slot), events.InstanceOnline{InstanceSeen: seen(slot, events.PhaseOnline)})
	}
	fails := func(slot uint32) []events.Data {
		return append(begins(slot), events.InstanceOffline{InstanceSeen: seen(slot, events.PhaseOffline)})
	}
	revised := events.ServiceRevised{Revision: 2, Spec: events.Spec{Image: "localhost/web:2"}, Hash: "another"}
	job := events.Spec{Mode: events.ModeJob, JobSpec: events.JobSpec{Job: &events.Job{Completions: 2, Parallelism: 2}}}
	for _, row := range []struct {
		name            string
		spec            events.Spec
		then            []events.Data
		desired, online int
	}{
		{"all serve", events.Spec{}, slices.Concat(serves(0), serves(1)), 2, 2},
		{"an update has not come to them", events.Spec{}, append(slices.Concat(serves(0), serves(1)), revised), 2, 2},
		{"it has not, and one is offline", events.Spec{}, append(slices.Concat(serves(0), fails(1)), revised), 2, 1},
		{"one has just begun", events.Spec{}, slices.Concat(serves(0), begins(1)), 2, 1},
		{"one of a job has just begun", job, slices.Concat(serves(0), begins(1)), 2, 2},
		{"one of a job is offline", job, slices.Concat(serves(0), fails(1)), 2, 1},
		{"one of a job is through", job, append(slices.Concat(serves(0), serves(1)), events.InstanceCompleted{InstanceSeen: seen(1, events.PhaseCompleted)}), 1, 1},
	} {
		c := projections.NewCluster()
		for _, data := range append([]events.Data{events.ServiceRevised{Revision: 1, Spec: row.spec}, events.ServiceScaled{Scale: 2}}, row.then...) {
			c.Sequence++
			r := happened(int(c.Sequence), data)
			r.Sequence = c.Sequence
			if err := c.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		if l := levelsOf(c, noon); len(l.services) != 1 || l.services[0].desired != row.desired || l.services[0].online != row.online {
			t.Errorf("%s: %+v, want %d of %d online", row.name, l.services, row.online, row.desired)
		}
	}
}

// TestWhatIsPausedIsOverdue keeps an operation in a phase for three times its deadline, also while the operation waits for an operator.
func TestWhatIsPausedIsOverdue(t *testing.T) {
	const lasts = 10 * time.Second
	for _, row := range []struct {
		phase  events.OperationPhase
		paused string
		want   time.Duration
	}{
		{events.OperationStart, "", 2 * lasts},
		{events.OperationStart, "it does not come to serve", 2 * lasts},
		{events.OperationWait, "", 0},
		{events.OperationWait, "slots have kept what they had", 3 * lasts},
	} {
		c, web := projections.NewCluster(), events.ServiceID{Namespace: "demo", Name: "web"}
		spec := events.Spec{UpdateSpec: events.UpdateSpec{Update: &events.Update{HealthyDeadline: events.Duration(lasts)}}}
		c.Services[web] = &projections.Service{
			ID: web, Revision: 1, Revisions: map[uint64]*projections.Revision{1: {Spec: spec}},
			Operation: &projections.Operation{Kind: events.OperationUpdate, Revision: 1, Phase: row.phase, Paused: row.paused, Entered: noon},
		}
		c.Operating()[web] = struct{}{}
		if l := levelsOf(c, noon.Add(3*lasts)); len(l.under) != 1 || l.under[0].overdue != row.want {
			t.Errorf("in the phase %s, paused as %q, it is %+v, want overdue %s", row.phase, row.paused, l.under, row.want)
		}
	}
}

func TestAServicePendsForWhatMostNodesLack(t *testing.T) {
	for _, c := range []struct {
		pending *events.InstancePending
		want    string
	}{
		{nil, pendingUndecided},
		{&events.InstancePending{}, pendingNoNode},
		{&events.InstancePending{Nodes: 3, Removed: events.Removed{Silent: 1, Memory: 2}}, "memory"},
		{&events.InstancePending{Nodes: 3, Removed: events.Removed{Silent: 2, Memory: 1}}, "silent"},
	} {
		if got := pendingReason(&projections.Service{Pending: c.pending}); got != c.want {
			t.Errorf("%+v pends for %s, want %s", c.pending, got, c.want)
		}
	}
}

// TestEveryFilterIsAReason holds every filter of placement to be one of the reasons: by the name that it has in the log.
func TestEveryFilterIsAReason(t *testing.T) {
	for name, removed := range map[string]events.Removed{
		"silent": {Silent: 1}, "degraded": {Degraded: 1}, "paused": {Paused: 1}, "drained": {Drained: 1}, "not_allowed": {NotAllowed: 1},
		"node_selector": {NodeSelector: 1}, "zone": {Zone: 1}, "allow_host_port": {AllowHostPort: 1},
		"allow_engine_context": {AllowEngineContext: 1}, "anti_affinity": {AntiAffinity: 1}, "max_per_node": {MaxPerNode: 1},
		"host_port": {HostPort: 1}, "ports": {Ports: 1}, "cpu": {CPU: 1}, "memory": {Memory: 1}, "disk": {Disk: 1}, "spread": {Spread: 1},
		"held": {Held: 1}, "volumes": {Volumes: 1}, "crashed": {Crashed: 1},
	} {
		got := pendingReason(&projections.Service{Pending: &events.InstancePending{Nodes: 1, Removed: removed}})
		if got != strings.ReplaceAll(name, "_", "-") {
			t.Errorf("%s pends for %s", name, got)
		}
	}
}
