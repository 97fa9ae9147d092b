package rookerytest_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

var migrations = flag.Int("migrations", 2, "how `often` TestTheBusIsMigratedUnderLoad kills a migration")

// TestTheBusIsMigratedUnderLoad changes a bus from one server to three and back, again and again, while a client sends 20 commands a second. Each
// migration is killed at some moment, and then run again. Every command that was acknowledged has an outcome.
func TestTheBusIsMigratedUnderLoad(t *testing.T) {
	t.Parallel()
	const longest = 3 * time.Second
	q := newServers(newField(t), serverCount)
	if !q.within(settlesWithin, func() bool { // the servers must find each other first
		_, code := rookery(t, "bus", "init", "--server", q.url)
		return code == 0
	}) {
		t.Fatal("the streams are not made")
	}
	c := rookerytest.Start(t, rookerytest.WithServer(q.url))
	c.Ensure("demo/web", `{"image":"i","scale":2}`)
	acknowledged := sendsOn(t, c, "demo/web", 1, 2, 3)
	random := seed(t)
	for n := range *migrations {
		replicas := []string{"3", "1"}[n%2]
		p := startProcess(t, "bus", "migrate", "--yes", "--replicas", replicas, "--server", q.url)
		select {
		case <-p.ended:
		case <-time.After(time.Duration(random.Int64N(int64(longest)))):
			p.kill()
		}
		out, code := rookery(t, "bus", "migrate", "--yes", "--replicas", replicas, "--server", q.url)
		if code != 0 {
			t.Fatalf("bus migrate ends with %d: %s", code, out)
		}
		if out, code := rookery(t, "bus", "migrate", "--server", q.url); code != 0 || !strings.Contains(out, "Nothing is to be changed") {
			t.Errorf("after a migration there is more to do, code %d: %s", code, out)
		}
		kept, err := c.Bus().Copies(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kept {
			if fmt.Sprint(k.Replicas) != replicas {
				t.Errorf("%s is kept by %d servers, want %s", k.Name, k.Replicas, replicas)
			}
		}
	}
	sent := acknowledged()
	lost := 0
	for _, sequence := range sent {
		if outcome := c.Outcome(sequence); outcome.Outcome == "" {
			lost++
		}
	}
	fmt.Printf("migrations %d, acknowledged %d, lost %d\n", *migrations, len(sent), lost)
	if lost > 0 || len(sent) == 0 {
		t.Errorf("of %d commands %d are lost", len(sent), lost)
	}
}

// sendsOn scales a service 20 times a second, until the function that it returns is called. That returns the sequences that were acknowledged.
func sendsOn(t *testing.T, c *rookerytest.Cluster, service string, scales ...int) func() []uint64 {
	const every = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	var acknowledged []uint64
	id, err := events.ParseServiceID(service)
	if err != nil {
		t.Fatal(err)
	}
	sending.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			call, done := context.WithTimeout(ctx, publishWithin)
			sequence, err := c.Bus().Publish(call, events.Message{
				Subject: events.CommandSubject(id, "scale"), Header: events.Header{nats.MsgIdHdr: {fmt.Sprintf("load-%d", n)}},
				Body: fmt.Appendf(nil, `{"scale":%d,"busy":"supersede"}`, scales[n%len(scales)]),
			})
			done()
			if err == nil {
				acknowledged = append(acknowledged, sequence)
			}
		}
	})
	t.Cleanup(sending.Wait)
	t.Cleanup(cancel)
	return func() []uint64 {
		cancel()
		sending.Wait()
		return acknowledged
	}
}
