package main

import (
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// result is what one round came to. The peer prints the same.
type result struct {
	Who       string  `json:"who"`
	Mix       string  `json:"mix"`
	Nodes     int     `json:"nodes"`
	Instances int     `json:"instances"`
	Placed    int     `json:"placed"`
	Wall      float64 `json:"wall_seconds"`
	CPU       float64 `json:"cpu_seconds"`
	PerSecond float64 `json:"per_second"`
	Heap      int64   `json:"live_heap_bytes"`
	NodeMin   int     `json:"node_min"`
	NodeMax   int     `json:"node_max"`
	RackMin   int     `json:"rack_min"`
	RackMax   int     `json:"rack_max"`
}

// measure places all instances of the mix, from pending to applied to the state and stored.
func measure(m mix, end store) (result, error) {
	c := projections.NewCluster()
	apply(c, events.ClusterScope, events.PolicyChanged{Policy: m.policy})
	for i := range m.nodes {
		apply(c, events.NodeScope(nodeName(i)), events.NodeJoined{
			Epoch: 1, Incarnation: "a", NodeFacts: events.NodeFacts{
				Address: "10.0.0.1", Zone: rackName(i % m.racks), Labels: m.labels(i), Capacity: m.node,
				Ports: events.PortRange{First: 20_000, Last: 30_000}, EngineFacts: events.EngineFacts{Engine: "podman"},
			},
		})
	}
	empty := liveHeap()
	for s := range m.services {
		spec := m.spec(s)
		id := events.ServiceID{Namespace: "bench", Name: fmt.Sprintf("s-%03d", s)}
		apply(c, events.ServiceScope(id), events.ServiceRevised{Revision: 1, Spec: spec, Hash: spec.Hash()})
		apply(c, events.ServiceScope(id), events.ServiceScaled{Scale: uint32(m.scale)})
	}
	work := coordinator.NewWorkQueue(c)
	cpu, began := cpuTime(), time.Now()
	placed, err := placeAll(c, work, end)
	if err != nil {
		return result{}, err
	}
	r := result{
		Who: "rookery", Mix: m.name, Nodes: m.nodes, Instances: m.services * m.scale, Placed: placed,
		Wall: time.Since(began).Seconds(), CPU: (cpuTime() - cpu).Seconds(),
	}
	r.PerSecond = float64(placed) / r.Wall
	r.Heap = liveHeap() - empty
	r.balance(c, m)
	runtime.KeepAlive(work)
	return r, nil
}

// placeAll decides rounds until one has nothing to say, as the leader's loop does.
func placeAll(c *projections.Cluster, work *coordinator.WorkQueue, end store) (int, error) {
	placed, now := 0, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for {
		turn := coordinator.NewTurn(c, work, now)
		turn.Look()
		if len(turn.Records) == 0 {
			return placed, nil
		}
		placed += len(turn.Records)
		if err := end(turn); err != nil {
			return placed, err
		}
	}
}

func apply(c *projections.Cluster, scope events.Scope, data events.Data) {
	r := events.Record{Event: events.Event{Scope: scope, Data: data}, Sequence: c.Sequence + 1}
	if err := c.Apply(r); err != nil {
		panic(err)
	}
}

// balance counts the instances of the node and of the rack that have fewest and most.
func (r *result) balance(c *projections.Cluster, m mix) {
	racks := make([]int, m.racks)
	r.NodeMin, r.RackMin = r.Instances, r.Instances
	for i := range m.nodes {
		n := c.Nodes[nodeName(i)].Instances()
		racks[i%m.racks] += n
		r.NodeMin, r.NodeMax = min(r.NodeMin, n), max(r.NodeMax, n)
	}
	for _, n := range racks {
		r.RackMin, r.RackMax = min(r.RackMin, n), max(r.RackMax, n)
	}
}

func nodeName(i int) string { return fmt.Sprintf("node-%04d", i) }
func rackName(i int) string { return fmt.Sprintf("rack-%02d", i) }

// liveHeap is what is in use after everything else was let go.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// cpuTime is what this process has used of all cores.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
