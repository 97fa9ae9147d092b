package checker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/memory"
)

var (
	began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	web   = events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"})
	host  = events.NodeScope("n0")
)

// said is an event and its scope.
type said struct {
	scope events.Scope
	data  events.Data
}

// told gives a checker a log in which each of these events is a round of its own, a second after the one before. It returns the broken
// promises.
func told(t *testing.T, all ...said) (broken []string) {
	t.Helper()
	_, broken = follows(t, all...)
	return broken
}

// follows is told, and also returns the checker.
func follows(t *testing.T, all ...said) (c *checker.Checker, broken []string) {
	t.Helper()
	now := began
	c = checker.New(checker.Outside{
		Server: memory.New(func() time.Time { return now }), Now: func() time.Time { return now },
		Engines: func() []checker.Engine { return nil }, Trouble: func() (int, bool) { return 0, true },
		Report: func(b checker.Breach) {
			t.Log(b.Promise, b.What)
			broken = append(broken, b.Promise)
		},
	})
	var chain events.Chain
	sequence := uint64(0)
	write := func(scope events.Scope, d events.Data) events.Message {
		sequence++
		m, err := events.Record{Event: events.Event{Scope: scope, Data: d}, Sequence: sequence, Time: now}.Message("log")
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	round := uint64(0)
	for _, one := range all {
		now = now.Add(time.Second)
		if subject, ordered := ofOrders(one); ordered {
			m, err := events.Encode(subject, one.data, events.Attributes{})
			if err != nil {
				t.Fatal(err)
			}
			c.Stored(bus.Orders, []events.Message{m})
			continue
		}
		round++
		m := write(one.scope, one.data)
		chain = chain.Extend(m)
		closed := write(events.RoundScope, events.RoundClosed{Round: round, Epoch: 1, Leader: "c0", Now: now, Commands: 9, Chain: chain})
		chain = chain.Extend(closed)
		c.Stored(bus.Log, []events.Message{m, closed})
	}
	return c, broken
}

// ofOrders returns where the stream of orders has a message. The log has the others.
func ofOrders(one said) (subject string, is bool) {
	switch one.data.(type) {
	case events.OrdersEpoch:
		return events.OrdersEpochSubject, true
	case events.Order:
		id, _ := one.scope.Service()
		return events.OrderSubject("n0", events.InstanceID{Service: id, Generation: 1}), true
	}
	return "", false
}

// TestALeaderMayNotKnowARoundOfTheOneBefore writes an order that the last round of the leader before contradicts, before and after that was known.
func TestALeaderMayNotKnowARoundOfTheOneBefore(t *testing.T) {
	retired := said{web, events.InstanceRetired{Generation: 1, Reason: events.RetireUnmatched}}
	const placedAt, retiredAt = 2*4 + 1, 2*5 + 1
	order := said{web, events.Order{Action: events.ActionRun, Log: "log", Decided: placedAt, Stream: "orders", Counter: 1, Revision: 1, Spec: &events.Spec{Image: "localhost/a:1"}}}
	for followed, want := range map[uint64][]string{placedAt + 1: nil, retiredAt + 1: {"orders"}} {
		mark := said{events.ClusterScope, events.OrdersEpoch{Log: "log", Epoch: 2, Leader: "c1", Closed: followed}}
		all := append(cluster(events.Spec{Image: "localhost/a:1", Ports: []events.Port{{Name: "http", Port: 80}}}), placed(0, 1, 100))
		if followed < retiredAt {
			all = append(all, mark, retired, order)
		} else {
			all = append(all, retired, mark, order)
		}
		if got := told(t, all...); !slices.Equal(got, want) {
			t.Errorf("the leader has followed the log to %d, and %q are broken, want %q", followed, got, want)
		}
	}
}

// cluster is a node, and a service of two slots with a port.
func cluster(spec events.Spec) []said {
	facts := events.NodeFacts{Address: "10.0.0.1", Ports: events.PortRange{First: 100, Last: 109}}
	all := []said{
		{events.ClusterScope, events.ClusterAdopted{Streams: map[string]string{"ROOKERY_LOG": "log"}, Commands: 9}},
		{host, events.NodeJoined{Epoch: 1, Incarnation: "n0#1", NodeFacts: facts}},
	}
	return append(all, said{web, events.ServiceRevised{Revision: 1, Spec: spec}}, said{web, events.ServiceScaled{Scale: 2}})
}

func placed(ordinal, generation uint32, port uint16) said {
	return said{web, events.InstancePlaced{
		Ordinal: ordinal, Generation: generation, Revision: 1, Node: "n0", Address: "10.0.0.1",
		Ports: []events.PortBinding{{Name: "http", Port: 80, HostPort: port}},
	}}
}

func seen(phase events.Phase, attempt uint32) events.InstanceSeen {
	return events.InstanceSeen{Generation: 1, Node: "n0", Position: events.Position{Epoch: 1, Attempt: attempt, Phase: phase}}
}

func TestWhatMustNeverHappenIsReported(t *testing.T) {
	one := events.CommandIdentity{Sequence: 10, Verb: "scale"}
	retired := said{web, events.InstanceRetired{Generation: 1, Reason: events.RetireUnmatched}}
	removed := said{web, events.InstanceRemoved{InstanceSeen: seen(events.PhaseRemoved, 0)}}
	online := said{web, events.InstanceOnline{InstanceSeen: seen(events.PhaseOnline, 1)}}
	start := said{web, events.OperationStarted{Operation: events.OperationUpdate, Revision: 1, Slots: []uint32{0}}}
	const operation = 2*6 - 1 // the sixth round's event
	enters := func(phase events.OperationPhase, slots ...uint32) said {
		return said{web, events.OperationEntered{Operation: operation, Wave: 1, Phase: phase, Slots: slots}}
	}
	for name, row := range map[string]struct {
		then []said
		want string // the promise; "" for none
	}{
		"what is as it must be":               {[]said{placed(0, 1, 100), online, retired, removed, placed(0, 2, 100)}, ""},
		"a second outcome":                    {[]said{{web, events.CommandAccepted{CommandIdentity: one}}, {web, events.CommandAccepted{CommandIdentity: one}}}, "P1"},
		"an end without an outcome":           {[]said{{web, events.CommandSucceeded{Sequence: 11}}}, "P1"},
		"a generation that is used again":     {[]said{placed(0, 1, 100), retired, removed, placed(0, 1, 100)}, "P5"},
		"two instances of a slot":             {[]said{placed(0, 1, 100), placed(0, 2, 101)}, "P5"},
		"a port that two instances have":      {[]said{placed(0, 1, 100), placed(1, 1, 100)}, "capacity"},
		"a port out of the range":             {[]said{placed(0, 1, 110)}, "capacity"},
		"an instance beyond the scale":        {[]said{placed(2, 1, 100)}, "placement"},
		"a position that sinks":               {[]said{placed(0, 1, 100), online, {web, events.InstanceStarted{InstanceSeen: seen(events.PhaseStarted, 0)}}}, "status"},
		"an end that nothing asks for":        {[]said{placed(0, 1, 100), removed}, "P9"},
		"a stop of what serves and is needed": {[]said{placed(0, 1, 100), online, {web, events.InstanceRetired{Generation: 1, Reason: events.RetireScaledDown}}}, "retire"},
		"a node epoch that is left out":       {[]said{{host, events.NodeJoined{Epoch: 3, Incarnation: "n0#2"}}}, "nodes"},
		"a phase that begins too early":       {[]said{placed(0, 1, 100), start, enters(events.OperationStart, 0), enters(events.OperationRetire)}, "P6"},
		"a phase that comes twice":            {[]said{placed(0, 1, 100), start, enters(events.OperationRetire, 0), enters(events.OperationRetire)}, "P6"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := events.Spec{Image: "localhost/a:1"}
			spec.Ports = []events.Port{{Name: "http", Port: 80}}
			broken := told(t, append(cluster(spec), row.then...)...)
			if row.want == "" && len(broken) > 0 || row.want != "" && !slices.Contains(broken, row.want) {
				t.Errorf("broken are %q, want %q", broken, row.want)
			}
		})
	}
}

// TestAnExclusiveSlotHasNoSecondCopy places the next instance of an exclusive slot before the one before is gone, and after it.
func TestAnExclusiveSlotHasNoSecondCopy(t *testing.T) {
	spec := events.Spec{Image: "localhost/a:1"}
	spec.Exclusive = true
	exclusive := func(generation uint32) said {
		return said{web, events.InstancePlaced{Generation: generation, Revision: 1, Node: "n0", Address: "10.0.0.1", Window: events.MinWindow}}
	}
	retired := said{web, events.InstanceRetired{Generation: 1, Reason: events.RetireUnmatched}}
	removed := said{web, events.InstanceRemoved{InstanceSeen: seen(events.PhaseRemoved, 0)}}
	if broken := told(t, append(cluster(spec), exclusive(1), retired, exclusive(2))...); !slices.Contains(broken, "P5") {
		t.Errorf("broken are %q, want P5", broken)
	}
	if broken := told(t, append(cluster(spec), exclusive(1), retired, removed, exclusive(2))...); len(broken) > 0 {
		t.Errorf("broken are %q, want none", broken)
	}
}

// TestAClusterIsNotSettledWhileANodeTriesAgain pauses an update whose next instance has started and does not serve yet: its node keeps trying.
func TestAClusterIsNotSettledWhileANodeTriesAgain(t *testing.T) {
	spec := events.Spec{Image: "localhost/a:1"}
	next := spec
	next.Image = "localhost/a:2"
	all := append(cluster(spec), placed(0, 1, 100), said{web, events.InstanceOnline{InstanceSeen: seen(events.PhaseOnline, 1)}})
	operation := uint64(2*(len(all)+2) - 1) // two events for each round
	started := seen(events.PhaseStarted, 0)
	started.Generation = 2
	c, _ := follows(t, append(all,
		said{web, events.ServiceRevised{Revision: 2, Spec: next}},
		said{web, events.OperationStarted{Operation: events.OperationUpdate, Revision: 2, Slots: []uint32{0}}},
		said{web, events.OperationEntered{Operation: operation, Wave: 1, Phase: events.OperationStart, Slots: []uint32{0}}},
		said{web, events.InstancePlaced{Generation: 2, Revision: 2, Replaces: 1, Node: "n0", Address: "10.0.0.1"}},
		said{web, events.InstanceStarted{InstanceSeen: started}},
		said{web, events.OperationPaused{Operation: operation, Message: "slot 0 does not serve"}},
	)...)
	if why := c.Unlike(); !slices.Contains(why, "demo/web.0.2 is started") {
		t.Errorf("the cluster is taken for settled, or unlike what is asked for by %q", why)
	}
}
