package projections_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

var (
	web = events.ServiceID{Namespace: "demo", Name: "web"}
	at  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// writer writes a log, round by round.
type writer struct {
	t     *testing.T
	log   []events.Message
	chain events.Chain
	round uint64
}

func (w *writer) add(scope events.Scope, data events.Data) events.Message {
	w.t.Helper()
	sequence := uint64(len(w.log)) + 1
	m, err := events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: sequence, Time: at}.Message("log")
	if err != nil {
		w.t.Fatal(err)
	}
	m.Sequence = sequence
	w.log = append(w.log, m)
	return m
}

// open writes events of the service without the end of their round.
func (w *writer) open(data ...events.Data) {
	w.t.Helper()
	for _, d := range data {
		w.chain = w.chain.Extend(w.add(events.ServiceScope(web), d))
	}
}

// closed writes events of the service as a round.
func (w *writer) closed(data ...events.Data) {
	w.t.Helper()
	w.open(data...)
	w.round++
	w.chain = w.chain.Extend(w.add(events.RoundScope, events.RoundClosed{Round: w.round, Epoch: 1, Now: at, Chain: w.chain}))
}

func revised(revision uint64) events.Data {
	spec := events.Spec{Image: "localhost/web:1", Ports: []events.Port{{Name: "http", Port: 80}}}
	return events.ServiceRevised{Revision: revision, Spec: spec, Hash: spec.Hash()}
}

func placed(ordinal, generation uint32, port uint16) events.Data {
	return events.InstancePlaced{
		Ordinal: ordinal, Generation: generation, Revision: 1, Node: "n",
		Ports: []events.PortBinding{{Name: "http", Port: 80, HostPort: port}},
	}
}

func removed(ordinal, generation uint32) events.Data {
	return events.InstanceRemoved{InstanceSeen: events.InstanceSeen{Ordinal: ordinal, Generation: generation, Node: "n"}}
}

func retired(ordinal, generation uint32) events.Data {
	return events.InstanceRetired{Ordinal: ordinal, Generation: generation, Reason: events.RetireScaledDown}
}

// fold folds the log and returns the first error.
func fold(log []events.Message) (*projections.Fold, error) {
	f := projections.NewFold()
	for _, m := range log {
		if _, err := f.Take(m); err != nil {
			return f, err
		}
	}
	return f, nil
}

func TestAFoldStopsAtWhatIsNotWholeAndSaysWhere(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(log []events.Message) []events.Message
		want error
		at   string
	}{
		"a message is missing": {
			func(log []events.Message) []events.Message { return slices.Delete(log, 1, 2) }, projections.ErrGap, "log sequence 3:",
		},
		"a message comes twice": {
			func(log []events.Message) []events.Message { return slices.Insert(log, 1, log[0]) }, projections.ErrGap, "log sequence 1:",
		},
		"the first message is missing": {
			func(log []events.Message) []events.Message { return log[1:] }, projections.ErrGap, "log sequence 2:",
		},
		"a byte of an event changed": {
			func(log []events.Message) []events.Message {
				log[1].Body = bytes.Replace(log[1].Body, []byte(`"scale":2`), []byte(`"scale":3`), 1)
				return log
			}, projections.ErrChain, "log sequence 3:",
		},
		"a byte of a closing message changed": {
			func(log []events.Message) []events.Message {
				log[2].Body = bytes.Replace(log[2].Body, []byte(`"epoch":1`), []byte(`"epoch":2`), 1)
				return log
			}, projections.ErrChain, "log sequence 5:",
		},
		"an event is on another subject": {
			func(log []events.Message) []events.Message {
				log[1].Subject = strings.Replace(log[1].Subject, "web", "db", 1)
				return log
			}, projections.ErrChain, "log sequence 3:",
		},
		"an event is of a type from the future": {
			func(log []events.Message) []events.Message {
				log[1].Header["ce-type"] = []string{"io.rookery.service.v9.scaled"}
				return log
			}, projections.ErrUnknown, "log sequence 2:",
		},
		"a body does not read": {
			func(log []events.Message) []events.Message { log[1].Body = []byte("{"); return log }, events.ErrMalformed, "log sequence 2:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{t: t}
			w.closed(revised(1), events.ServiceScaled{Scale: 2})
			w.closed(events.ServiceScaled{Scale: 4})
			if _, err := fold(w.log); err != nil {
				t.Fatalf("the fold of an undamaged log failed: %v", err)
			}
			_, err := fold(c.harm(w.log))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.at) {
				t.Errorf("the fold stopped with %v, want %v at %s", err, c.want, c.at)
			}
		})
	}
}

func TestAFoldHoldsBackOpenRounds(t *testing.T) {
	w := &writer{t: t}
	w.closed(revised(1), events.ServiceScaled{Scale: 2})
	w.open(events.ServiceScaled{Scale: 5})
	f, err := fold(w.log)
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Cluster.Services[web]; s.Scale != 2 || f.Cluster.Sequence != 3 || f.Last() != 4 {
		t.Errorf("an open round has changed the state: scale %d at %d, last %d", s.Scale, f.Cluster.Sequence, f.Last())
	}
	if from, to, torn := f.Open(); !torn || from != 4 || to != 4 {
		t.Errorf("open is %d to %d (%v), want 4", from, to, torn)
	}
}

func TestAVoidMustNameWhatIsOpen(t *testing.T) {
	for _, c := range []struct {
		from, to uint64
		want     error
	}{{4, 5, nil}, {3, 5, projections.ErrChain}, {5, 5, projections.ErrChain}, {4, 4, projections.ErrChain}, {4, 6, projections.ErrChain}} {
		w := &writer{t: t}
		w.closed(revised(1), events.ServiceScaled{Scale: 2})
		before := w.chain
		w.open(events.ServiceScaled{Scale: 5}, events.ServiceScaled{Scale: 6})
		w.chain = before.Extend(w.add(events.RoundScope, events.RoundVoid{From: c.from, To: c.to, Epoch: 2, Leader: "second"}))
		w.closed(events.ServiceScaled{Scale: 3})
		f, err := fold(w.log)
		if !errors.Is(err, c.want) {
			t.Errorf("void %d to %d: %v, want %v", c.from, c.to, err, c.want)
		}
		if c.want == nil && f.Cluster.Services[web].Scale != 3 {
			t.Errorf("the scale after the void is %d, want 3", f.Cluster.Services[web].Scale)
		}
	}
}

// TestWhatOthersPutIntoTheLogCountsForNothing publishes all kinds of messages after a closed round. The fold must go on, and after a void the
// state must be as if they had never been published.
func TestWhatOthersPutIntoTheLogCountsForNothing(t *testing.T) {
	w := &writer{t: t}
	w.closed(revised(1), events.ServiceScaled{Scale: 2})
	before := w.chain
	foreign := func(subject, body string, header events.Header) {
		w.log = append(w.log, events.Message{Sequence: uint64(len(w.log)) + 1, Subject: subject, Header: header, Body: []byte(body)})
	}
	foreign("rookery.log.x", "hi", nil)
	foreign("rookery.log.round", "{}", nil)
	foreign("rookery.log.service.demo.web.scaled", `{"scale":9}`, nil)
	foreign("rookery.log.cluster.from-the-future", "{}", events.Header{"ce-type": {"io.rookery.cluster.v9.from-the-future"}})
	w.add(events.ServiceScope(web), events.ServiceScaled{Scale: 9})
	w.add(events.ServiceScope(web), events.ServiceScale{})
	w.add(events.RoundScope, events.RoundVoid{From: 1, To: uint64(len(w.log)), Epoch: 2, Leader: "mallory"})
	f, err := fold(w.log)
	if from, to, open := f.Open(); err != nil || !open || from != 4 || to != 10 {
		t.Fatalf("open is %d to %d (%v), %v", from, to, open, err)
	}
	w.chain = before.Extend(w.add(events.ClusterScope, events.RoundVoid{From: 4, To: 10, Epoch: 2, Leader: "second"}))
	w.closed(events.ServiceScaled{Scale: 3})
	f, err = fold(w.log)
	if err != nil || f.Cluster.Services[web].Scale != 3 || f.Cluster.Round != 2 {
		t.Errorf("the fold of the log gives %+v, %v", f.Cluster.Services[web], err)
	}
}

func TestGenerationsAreNeverUsedAgain(t *testing.T) {
	w := &writer{t: t}
	w.closed(revised(1), events.ServiceScaled{Scale: 2}, placed(0, 1, 1), placed(1, 1, 2), retired(1, 1), placed(1, 2, 3))
	next := func(step string, want ...uint32) {
		t.Helper()
		f, err := fold(w.log)
		if err != nil {
			t.Fatal(err)
		}
		for ordinal, generation := range want {
			if got := f.Cluster.Services[web].NextGeneration(uint32(ordinal)); got != generation {
				t.Errorf("%s: the next generation of slot %d is %d, want %d", step, ordinal, got, generation)
			}
		}
	}
	next("at first", 2, 3, 1)
	w.closed(events.ServiceScaled{Scale: 1}, retired(1, 2), removed(1, 1), removed(1, 2))
	next("the slot is gone", 2, 3, 3)
	w.closed(events.ServiceDropped{}, retired(0, 1), removed(0, 1), events.ServiceRemoved{}, revised(1))
	next("the service was removed and made again", 3, 3, 3)
}

func TestPortsAreFreedWithTheirInstance(t *testing.T) {
	w := &writer{t: t}
	join := events.NodeJoined{Epoch: 1, Incarnation: "a", NodeFacts: events.NodeFacts{Ports: events.PortRange{First: 1, Last: 2}}}
	w.chain = w.chain.Extend(w.add(events.NodeScope("n"), join))
	w.closed(revised(1), events.ServiceScaled{Scale: 2}, placed(0, 1, 1), placed(1, 1, 2))
	free := func() []uint16 {
		f, err := fold(w.log)
		if err != nil {
			t.Fatal(err)
		}
		return f.Cluster.Nodes["n"].FreePorts(1)
	}
	w.closed(retired(0, 1))
	if ports := free(); ports != nil {
		t.Errorf("a terminating instance must hold its port until it is removed, but %v is free", ports)
	}
	w.closed(removed(0, 1))
	if ports := free(); !slices.Equal(ports, []uint16{1}) {
		t.Errorf("free ports %v, want 1", ports)
	}
}

func TestWhyPendingSaysWhatWasDecided(t *testing.T) {
	w := &writer{t: t}
	w.closed(revised(1), events.ServiceScaled{Scale: 3})
	for _, step := range []struct {
		event events.Data
		want  string
	}{
		{events.InstancePending{}, "no node has joined"},
		{
			events.InstancePending{Ordinal: 1, Nodes: 3, Removed: events.Removed{Silent: 1, Memory: 2}, Closest: &events.Shortage{
				Node: "n", Lacks: events.Resources{Memory: 256 << 20, CPU: 500},
			}},
			"of 3 nodes 1 silent, 2 with too little memory left; n lacks least: 500m of CPU, 256 MiB of memory",
		},
		{
			events.InstancePending{Nodes: 2, Removed: events.Removed{CPU: 1, Held: 1}, Closest: &events.Shortage{
				Node: "n", Lacks: events.Resources{CPU: 500},
			}, HeldFor: "demo/big"},
			"of 2 nodes 1 with too little CPU left, 1 held for demo/big, which has waited longer; n lacks least: 500m of CPU",
		},
		{
			events.InstancePending{Nodes: 1, Removed: events.Removed{CPU: 1}, Closest: &events.Shortage{
				Node: "n", Lacks: events.Resources{CPU: 500},
			}, Holds: "n"},
			"of 1 nodes 1 with too little CPU left; n lacks least: 500m of CPU; n is held for it",
		},
		{placed(0, 1, 1), "not decided yet"},
	} {
		w.closed(step.event)
		f, err := fold(w.log)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Cluster.WhyPending(f.Cluster.Services[web]); got != step.want {
			t.Errorf("after %v: %q, want %q", step.event, got, step.want)
		}
	}
}
