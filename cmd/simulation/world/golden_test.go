package world

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/golden"
)

var write = flag.String("write-golden", "", "write a new golden log of this name, as in v2.json")

// inLog returns every kind of event that may stand in the log.
func inLog() map[events.Kind]bool {
	kinds := map[events.Kind]bool{}
	for _, d := range events.Samples() {
		if _, command := d.(events.Command); command {
			continue
		}
		switch k := d.Kind(); k.Thing {
		case "command", "service", "group", "operation", "snapshot", "topology", "instance", "stray", "node", "cluster", "round":
			kinds[k] = true
		}
	}
	return kinds
}

// without takes the kinds of the messages, in the versions in which they were written, out of the others.
func without(t *testing.T, kinds map[events.Kind]bool, messages []events.Message) {
	t.Helper()
	for _, m := range messages {
		if _, err := events.ParseRecord(m); err != nil {
			t.Fatal(err)
		}
		kind, _ := events.ParseKind(m.Header.Get("ce-type"))
		delete(kinds, kind)
	}
}

// unrecorded returns the kinds of events that no golden log has.
func unrecorded(t *testing.T) map[events.Kind]bool {
	t.Helper()
	missing := inLog()
	for _, name := range golden.Names() {
		messages, err := golden.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		without(t, missing, messages)
	}
	return missing
}

// TestGoldenLogsHoldEveryKind holds the golden logs to have every kind of event, so that none can be changed without a
// log of before that shows it.
func TestGoldenLogsHoldEveryKind(t *testing.T) {
	for kind := range unrecorded(t) {
		t.Errorf("no golden log has a %s: write one with -write-golden", kind)
	}
}

// TestAClusterGoesOnFromEachGoldenLog begins a run with each golden log.
func TestAClusterGoesOnFromEachGoldenLog(t *testing.T) {
	for i, name := range sampled(golden.Names()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Draw(uint64(len(golden.Names()) + i))
			p.Golden, p.Lasts = true, min(p.Lasts, 30*time.Minute)
			if r := Run(t, p); len(r.Broken) > 0 {
				t.Error(r.Broken)
			}
		})
	}
}

// TestWriteGolden writes a golden log where it is told to: the shortest of some runs that have every kind of event which no other has.
func TestWriteGolden(t *testing.T) {
	if *write == "" {
		return
	}
	const runs = 60
	var shortest []events.Message
	for _, lasts := range []time.Duration{5 * time.Minute, 25 * time.Minute} {
		for seed := range uint64(runs) {
			messages, missing := logOf(t, seed, lasts), unrecorded(t)
			if without(t, missing, messages); len(missing) > 0 {
				t.Logf("seed %d has no %v", seed, missing)
			} else if shortest == nil || len(messages) < len(shortest) {
				shortest = messages
			}
		}
		if shortest != nil {
			break
		}
	}
	body, err := golden.Encode(shortest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("../../../events/golden", *write), body, 0o644); err != nil {
		t.Fatal(err)
	}
}

// logOf returns the log of a run of this length in which much goes wrong.
func logOf(t *testing.T, seed uint64, lasts time.Duration) (messages []events.Message) {
	d := Draw(seed)
	d.Golden, d.Accounts, d.Lasts, d.Nodes = false, true, lasts, max(d.Nodes, 2)
	// No program in it works above the level of this version, so that the log does not get there.
	d.Actions = slices.DeleteFunc(d.Actions, func(a Action) bool { return a.Kind == OtherVersion })
	d.Actions = slices.Concat(d.Actions, aboutServices(), aboutNodes(), aboutAdmissions(), []Action{say(4*time.Minute, ".cluster.finish-upgrade", `{}`)})
	synctest.Test(t, func(*testing.T) {
		w := newWorld(d, nil)
		w.at(w.began.Add(4*time.Minute), func() bool { w.opensSession(t); return true })
		w.live()
		messages = w.server.Backup(bus.Log).Messages()
	})
	return messages
}

// opensSession publishes what a node says of a session with an instance of its own that the log has.
func (w *World) opensSession(t *testing.T) {
	for _, m := range w.server.Backup(bus.Log).Messages() {
		r, err := events.ParseRecord(m)
		if err != nil {
			t.Fatal(err)
		}
		seen, online := r.Data.(events.InstanceOnline)
		id, _ := r.Scope.Service()
		if !online {
			continue
		}
		m, err := events.Encode(events.SessionStatusSubject(seen.Node), events.SessionStatus{
			Namespace: id.Namespace, Name: id.Name, Ordinal: seen.Ordinal, Generation: seen.Generation, Session: events.SessionExec, User: "ann",
		}, events.Attributes{ID: m.Header.Get("ce-id"), Source: "/test", Time: time.Now(), Program: present})
		if err == nil {
			_, err = w.server.Publish(context.Background(), m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.spread()
}

// aboutServices returns commands that lead services through every kind of change.
func aboutServices() []Action {
	return []Action{
		say(2*time.Minute, ".service.demo.agent.ensure", `{"image":"localhost/a:1","mode":"global"}`),
		say(2*time.Minute, ".service.demo.store.ensure", `{"image":"localhost/a:1","volumes":[{"name":"data","path":"/data"}]}`),
		say(2*time.Minute, ".service.demo.batch.ensure", `{"image":"localhost/a:1","mode":"job","job":{"completions":3,"parallelism":2}}`),
		say(2*time.Minute, ".service.demo.often.ensure", `{"image":"localhost/a:1","mode":"job","job":{"completions":3,"schedule":"*/2 0-0 * * *"}}`),
		say(23*time.Minute, ".service.demo.often.drop", `{}`),
		say(2*time.Minute, ".service.demo.waves.ensure", `{"image":"localhost/a:1","scale":2}`),
		say(3*time.Minute, ".service.demo.waves.ensure", `{"image":"localhost/a:1","node_selector":{"disk":"tape"},"update":{"healthy_deadline":"10s"}}`),
		say(4*time.Minute, ".service.demo.waves.ensure", `{"image":"localhost/a:1","node_selector":{"disk":"tape"},"update":{"healthy_deadline":"10s"}}`),
		say(6*time.Minute, ".service.demo.waves.ensure", `{"image":"localhost/b:1","update":{"canaries":1},"busy":"supersede"}`),
		say(7*time.Minute, ".service.demo.waves.promote", `{}`),
		say(7*time.Minute+30*time.Second, ".service.demo.waves.promote", `{}`),
		say(2*time.Minute, ".service.demo.kv.ensure", `{"image":"localhost/b:1","scale":2,"topology":{},"hooks":{"release":{"exec":["a"]},"acquire":{"exec":["b"]}}}`),
		say(3*time.Minute, ".service.demo.kv.scale", `{"scale":4}`),
		say(5*time.Minute, ".service.demo.kv.scale", `{"scale":1}`),
		{At: 8*time.Minute + 30*time.Second, Kind: BadImage, N: 3*len(images) + slices.Index(images, "localhost/b:1"), For: time.Minute},
		say(8*time.Minute+31*time.Second, ".service.demo.kv.scale", `{"scale":3}`),
		say(2*time.Minute, ".service.demo.state.ensure", `{"image":"localhost/a:1","scale":2,"volumes":[{"name":"data","path":"/data","state":true}],`+
			`"hooks":{"snapshot":{"exec":["a"]}},"snapshot":{"every":"100s"}}`),
		say(3*time.Minute, ".service.demo.state.snapshot", `{}`),
		say(7*time.Minute, ".service.demo.state.snapshot", `{}`),
		say(7*time.Minute+time.Millisecond, ".service.demo.state.cancel", `{}`),
		say(9*time.Minute, ".service.demo.state.ensure", `{"image":"localhost/a:1","env":{"A":"1"},"node_selector":{"disk":"tape"},"volumes":[{"name":"data","path":"/data","state":true}],`+
			`"hooks":{"snapshot":{"exec":["a"]}},"snapshot":{"every":"100s"}}`),
		say(14*time.Minute, ".service.demo.state.drop", `{}`),
		say(2*time.Minute, ".service.demo.rest.ensure", `{"image":"localhost/a:1","scale":2,"topology":{},"volumes":[{"name":"data","path":"/data","state":true}]}`),
		say(4*time.Minute, ".service.demo.rest.suspend", `{}`),
		say(6*time.Minute, ".service.demo.rest.resume", `{"snapshot":1}`),
		say(8*time.Minute, ".service.demo.rest.suspend", `{}`),
		say(9*time.Minute, ".service.demo.rest.resume", `{}`),
		say(2*time.Minute, ".group.demo.pair.ensure", `{"services":{"left":{"image":"localhost/a:1"},"right":{"image":"localhost/a:1","after":["left"]}}}`),
		say(6*time.Minute, ".group.demo.pair.ensure", `{"services":{"left":{"image":"localhost/a:2"},"more":{"image":"localhost/a:1","after":["left"],`+
			`"node_selector":{"disk":"tape"},"update":{"progress_deadline":"20s"}}}}`),
		say(11*time.Minute, ".group.demo.pair.ensure", `{"services":{"left":{"image":"localhost/b:1","node_selector":{"disk":"tape"}}},"busy":"supersede"}`),
		say(11*time.Minute+30*time.Second, ".group.demo.pair.cancel", `{}`),
		say(12*time.Minute, ".service.demo.store.restart", `{}`),
		say(12*time.Minute, ".service.demo.store.scale", `{"scale":2,"busy":"queue"}`),
		say(13*time.Minute, ".service.demo.store.ensure", `{"image":"localhost/b:1","busy":"queue"}`),
		say(13*time.Minute, ".service.demo.store.cancel", `{}`),
	}
}

// aboutNodes returns commands and faults that lead nodes and streams through every kind of change.
func aboutNodes() []Action {
	return []Action{
		say(19*time.Minute, ".service.demo.fast.ensure", `{"image":"localhost/a:1","scale":4,"node_selector":{"disk":"ssd"}}`),
		say(21*time.Minute, ".node.node-0.update", `{"without":["disk"]}`),
		say(21*time.Minute, ".node.node-1.update", `{"labels":{"disk":"ssd"}}`),
		say(22*time.Minute, ".cluster.rebalance", `{"min_gain":1}`),
		say(22*time.Minute, ".cluster.rebalance", `{"when":"node-joins"}`),
		say(16*time.Minute+30*time.Second, ".cluster.policy", `{"liveness":{"max_silent":0.1}}`),
		say(20*time.Minute, ".cluster.policy", `{}`),
		say(20*time.Minute, ".node.node-0.drain", `{"deadline":"20s"}`),
		say(20*time.Minute+50*time.Second, ".node.node-0.resume", `{}`),
		{At: 16 * time.Minute, Kind: Freeze, Targets: []string{nodeName(1)}, For: 150 * time.Second},
		say(17*time.Minute+40*time.Second, ".node.node-1.forget", `{}`),
		{At: 18*time.Minute + 25*time.Second, Kind: EngineRefuses, Targets: []string{nodeName(1)}, Point: Stop, N: 1, For: 5 * time.Minute},
		{At: 19*time.Minute + 10*time.Second, Kind: HostDown, Targets: []string{nodeName(1)}, For: 100 * time.Second},
		say(20*time.Minute+40*time.Second, ".node.node-1.forget", `{}`),
		{At: 16 * time.Minute, Kind: EngineRefuses, Targets: []string{"node-0"}, Point: List, For: time.Minute},
		say(3*time.Minute, ".cluster.nodes", `{"allowed":["node-0"]}`),
		say(4*time.Minute, ".cluster.nodes", `{"allowed":[]}`),
		{At: 5 * time.Minute, Kind: TornRound, Targets: []string{coordinatorName(0)}},
		{At: 8 * time.Minute, Kind: ServerRestart, For: 5 * time.Second},
		{At: 10 * time.Minute, Kind: Freeze, Targets: []string{nodeName(0)}, For: 4 * time.Minute},
		{At: 17 * time.Minute, Kind: Freeze, Targets: []string{nodeName(0)}, For: 2 * time.Minute},
		{At: 15 * time.Minute, Kind: LogRestored, For: 20 * time.Second, N: 11},
		{At: 24 * time.Minute, Kind: ServerRestart, For: 5 * time.Second},
	}
}

// aboutAdmissions returns commands about which nodes may connect.
func aboutAdmissions() []Action {
	const admit = `{"key":"UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","token":"t-one"}`
	return []Action{
		say(2*time.Minute, ".cluster.create-token", `{"id":"t-one"}`),
		say(3*time.Minute, ".node.elsewhere.admit", admit),
		say(4*time.Minute, ".node.elsewhere.revoke", `{}`),
	}
}

func say(at time.Duration, subject, body string) Action {
	return Action{At: at, Kind: Command, Subject: events.CommandRoot + subject, Body: body}
}
