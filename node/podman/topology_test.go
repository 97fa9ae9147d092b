package podman_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// testTopology checks that a container finds its topology in a file before it starts, and later topologies in its place, each complete.
func testTopology(t *testing.T, b *bench) {
	const length = 64 << 10 // more than is written at once
	document := func(i int) []byte { return []byte(strings.Repeat(string(rune('a'+i%26)), length)) }
	plan := b.plan(t)
	plan.Order.Spec.Topology = &events.TopologyRules{Path: "/run/rookery"}
	plan.Topology = document(0)
	c := b.prepare(t, plan)
	if c.Told != plan.Order.Decided {
		t.Errorf("the new container has been told by order %d, want %d", c.Told, plan.Order.Decided)
	}
	b.start(t, c)
	file := filepath.Join("/proc", fmt.Sprint(b.pid(t, c)), "root/run/rookery", events.TopologyFile)
	var reading sync.WaitGroup
	told := make(chan struct{})
	reading.Go(func() {
		for {
			got, err := os.ReadFile(file)
			if err != nil || len(got) != length || strings.Trim(string(got), string(got[:1])) != "" {
				t.Errorf("the file has %d bytes: %v", len(got), err)
				return
			}
			select {
			case <-told:
				return
			default:
			}
		}
	})
	const times = 26
	for i := range times {
		if err := b.engine.Tell(t.Context(), c, "/run/rookery", document(i)); err != nil {
			t.Error(err)
		}
	}
	close(told)
	reading.Wait()
	if err := b.engine.Tell(t.Context(), c, "/run/other", document(0)); err == nil {
		t.Error("a file where no volume is can be told")
	}
	b.remove(t, c)
	if left := b.podman(t, "volume", "ls", "--quiet", "--filter", "dangling=true"); left != "" {
		t.Errorf("the removed container has left the volumes %q", left)
	}
}

// testHooks runs each kind of hook, and lets a container refuse.
func testHooks(t *testing.T, b *bench) {
	plan := b.plan(t)
	plan.Order.Ports = []events.PortBinding{{Name: "http", Port: 8080, HostPort: freePort(t), Protocol: events.TCP}}
	c := b.prepare(t, plan)
	b.start(t, c)
	get(t, plan.Order.Ports[0].HostPort)
	change := events.TopologyChange{Operation: 3, Attempt: 1, Phase: events.OperationRelease, ConfigVersion: 2, Scale: 7, Slots: 7}
	health := &events.HTTPHook{Port: "http", Path: "/health"}
	for _, asked := range []struct {
		hook events.Hook
		says string
	}{
		{events.Hook{Exec: []string{"/web", "-env", "ROOKERY_OPERATION=3 ROOKERY_ATTEMPT=1 ROOKERY_PHASE=release ROOKERY_CONFIG_VERSION=2"}}, ""},
		{events.Hook{Exec: []string{"/web", "-env", "ROOKERY_PHASE=acquire"}}, "/web ended with exit code 1"},
		{events.Hook{HTTP: health}, ""},
		{events.Hook{HTTP: &events.HTTPHook{Port: "more", Path: "/"}}, `no port "more"`},
	} {
		err := b.engine.Ask(t.Context(), c, asked.hook, change, "127.0.0.1")
		if (err == nil) != (asked.says == "") || err != nil && !strings.Contains(err.Error(), asked.says) {
			t.Errorf("%+v answered %v, want %q", asked.hook, err, asked.says)
		}
	}
	if err := os.WriteFile(filepath.Join("/proc", fmt.Sprint(b.pid(t, c)), "root/sick"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.engine.Ask(t.Context(), c, events.Hook{HTTP: health}, change, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), "POST /health answered 503") {
		t.Errorf("a sick service answered %v", err)
	}
	hints := b.watch(t)
	if err := b.engine.Ask(t.Context(), c, events.Hook{Signal: "SIGHUP"}, change, "127.0.0.1"); err != nil {
		t.Error(err)
	}
	hints.wait(t, plan.Instance)
	if got := b.inspect(t, plan); got == nil || got.State != node.Exited {
		t.Errorf("after SIGHUP there is %+v", got)
	}
	if err := b.engine.Ask(t.Context(), c, events.Hook{Signal: "SIGHUP"}, change, "127.0.0.1"); err == nil {
		t.Error("a process that has ended took a signal")
	}
}
