package rookerytest_test

import (
	"container/heap"
	"encoding/json"
	"runtime"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
)

// BenchmarkPlacementsWithoutLog measures decisions applied to the state in memory, on 5,000 nodes, beside a bare heap
// of the nodes by their number of instances.
func BenchmarkPlacementsWithoutLog(b *testing.B) {
	const nodes, services, scale = 5000, 5, 1000
	for b.Loop() {
		d := newDecider(nodes)
		d.found(b)
		began := time.Now()
		for i := range services {
			d.place(b, serviceName(i), scale)
		}
		ours := time.Since(began)

		h := make(loads, nodes)
		for i := range h {
			h[i].name = nodeName(i)
		}
		began = time.Now()
		for range services * scale {
			h[0].instances++
			heap.Fix(&h, 0)
		}
		rates(b, "placements", services*scale, ours, time.Since(began))
	}
}

// loads is a heap of nodes, the one with the fewest instances first and ties by name.
type loads []struct {
	instances int
	name      string
}

func (l loads) Len() int { return len(l) }

func (l loads) Less(i, j int) bool {
	return l[i].instances < l[j].instances || l[i].instances == l[j].instances && l[i].name < l[j].name
}

func (l loads) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

func (l *loads) Push(any) {}

func (l *loads) Pop() any { return nil }

// BenchmarkEvent measures an event on its way into the log and back out, beside encoding/json for the body alone.
func BenchmarkEvent(b *testing.B) {
	const count = 200_000
	placed := events.InstancePlaced{
		Ordinal: 123, Generation: 2, Revision: 3, Node: "node-0001", Address: "127.0.0.1",
		Ports: []events.PortBinding{{Name: "http", Port: 8080, HostPort: 20_123, Protocol: events.TCP}},
	}
	record := events.Record{
		Event: events.Event{
			Scope: events.ServiceScope(events.ServiceID{Namespace: "demo", Name: "web"}), Data: placed,
			Cause: events.Cause{Correlation: 7, Causation: "ROOKERY_COMMANDS/7"},
		},
		Sequence: 1000, Time: time.Unix(1_800_000_000, 0).UTC(),
	}
	message, err := record.Message("0123456789abcdefghijkl")
	if err != nil {
		b.Fatal(err)
	}
	message.Sequence = record.Sequence
	for _, way := range []struct {
		name       string
		ours, bare func() error
	}{
		{
			"encode",
			func() error { _, err := record.Message("0123456789abcdefghijkl"); return err },
			func() error { _, err := json.Marshal(placed); return err },
		},
		{
			"decode",
			func() error { _, err := events.ParseRecord(message); return err },
			func() error { var d events.InstancePlaced; return json.Unmarshal(message.Body, &d) },
		},
		{
			"hash",
			func() error { var c events.Chain; c.Extend(message); return nil },
			nil,
		},
	} {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				rates(b, "events", count, repeat(b, count, way.ours), repeat(b, count, way.bare))
			}
		})
	}
}

func repeat(b *testing.B, count int, f func() error) time.Duration {
	b.Helper()
	if f == nil {
		return 0
	}
	began := time.Now()
	for range count {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}

// BenchmarkMemory measures what one instance that is online takes in the state.
func BenchmarkMemory(b *testing.B) {
	const nodes, services, scale = 100, 100, 1000
	for b.Loop() {
		d := newDecider(nodes)
		d.found(b)
		before := live()
		for i := range services {
			d.place(b, serviceName(i), scale)
			d.online(b, serviceName(i))
		}
		b.ReportMetric(float64(live()-before)/(services*scale), "bytes/instance")
		b.ReportMetric(0, "ns/op")
		runtime.KeepAlive(d)
	}
}

// live returns the bytes that are in use.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
