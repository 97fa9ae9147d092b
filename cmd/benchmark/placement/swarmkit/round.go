package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/moby/swarmkit/v2/manager/scheduler"
	"github.com/moby/swarmkit/v2/manager/state/store"
)

// report is the JSON line. Figures that a mix does not have (racks and
// headroom of the swarm mixes) are null.
type report struct {
	Who     string `json:"who"`
	Version string `json:"version"`
	Mix     string `json:"mix"`
	// OneByOne says that tasks were not grouped by service.
	OneByOne bool `json:"one_by_one"`
	Nodes    int  `json:"nodes"`
	Services int  `json:"services"`
	// Instances is the number over all services, Placed how many of them
	// the store has as assigned.
	Instances int `json:"instances"`
	Placed    int `json:"placed"`
	// WallSeconds runs from the start of the scheduler on a store full of
	// pending tasks to the commit of the last assignment. CPUSeconds is the
	// user and system time of the process meanwhile, its garbage collection
	// included.
	WallSeconds float64 `json:"wall_seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	// PerSecond is instances placed per second of wall time.
	PerSecond float64 `json:"per_second"`
	// FirstCommitSeconds is the part of WallSeconds up to the first commit of
	// assignments: reading the store and deciding everything. Commits take the
	// rest. LongestGapSeconds is the longest time between two commits. A gap
	// below 0.05 contains no debounce. A longer gap may also come from the
	// garbage collector or a busy machine, so Refusals is the figure to trust.
	FirstCommitSeconds float64 `json:"first_commit_seconds"`
	LongestGapSeconds  float64 `json:"longest_gap_seconds"`
	// Refusals counts the times that a task was written back as having no
	// suitable node; each is one that had to be tried again, after a debounce
	// of 50 ms to 1 s. With 0 of them all was placed in the scheduler's first
	// pass, which has no debounce before or in it.
	Refusals int64 `json:"refusals"`
	// LiveHeapBytes is the live heap of the tasks in the store.
	// LiveHeapWithSchedulerBytes adds the scheduler's own picture of nodes
	// and tasks, which a running manager holds besides the store.
	LiveHeapBytes              int64 `json:"live_heap_bytes"`
	LiveHeapWithSchedulerBytes int64 `json:"live_heap_with_scheduler_bytes"`
	// NodeMin to RackMax are numbers of instances.
	NodeMin int  `json:"node_min"`
	NodeMax int  `json:"node_max"`
	RackMin *int `json:"rack_min"`
	RackMax *int `json:"rack_max"`
	// HeadroomCPU and HeadroomMemory are shares of all nodes' capacity that
	// are free after the round.
	HeadroomCPU    *float64 `json:"headroom_cpu"`
	HeadroomMemory *float64 `json:"headroom_memory"`
}

// newReport is the report of a round that has yet to run.
func newReport(s *shape) *report {
	return &report{
		Who: "swarmkit", Mix: s.name, OneByOne: s.oneByOne,
		Nodes: s.nodes, Services: s.services, Instances: s.total(),
	}
}

// runRound makes the cluster and lets the scheduler place everything in it.
// The report is nil only when the round could not be set up.
func runRound(s shape, deadline time.Duration) (*report, error) {
	memory := store.NewMemoryStore(nil)
	if err := makeNodes(memory, &s); err != nil {
		return nil, err
	}
	services, err := makeServices(memory, &s)
	if err != nil {
		return nil, err
	}
	before := liveHeap()
	if err := makeTasks(memory, &s, services); err != nil {
		return nil, err
	}
	// Collect the garbage of making the tasks now, so that the timed part pays
	// only for its own garbage.
	runtime.GC()

	result := newReport(&s)
	placer := scheduler.New(memory)
	if err := timePlacing(placer, memory, deadline, result); err != nil {
		// The scheduler cannot be stopped in the midst of a round; it ends
		// with the process. Heap figures beside it would mean nothing.
		return result, errors.Join(err, countPlaced(memory, &s, result))
	}
	placer.Stop()
	result.LiveHeapWithSchedulerBytes = liveHeap() - before
	runtime.KeepAlive(placer)
	result.LiveHeapBytes = liveHeap() - before
	if err := countPlaced(memory, &s, result); err != nil {
		return result, err
	}
	if err := memory.Close(); err != nil {
		return result, fmt.Errorf("cannot close the store: %w", err)
	}
	return result, nil
}

// timePlacing starts the scheduler and waits until every instance is
// committed as assigned, and puts the times into result. It returns an error
// when the deadline passes first or the scheduler stops by itself.
func timePlacing(placer *scheduler.Scheduler, memory *store.MemoryStore, deadline time.Duration, result *report) error {
	watching := watchPlacing(memory, result.Instances)
	defer watching.cancel()
	stopped := make(chan error, 1)
	late := time.NewTimer(deadline)
	defer late.Stop()

	cpu := cpuTime()
	started := time.Now()
	watching.started.Store(&started)
	go func() { stopped <- placer.Run(context.Background()) }()
	var failure error
	select {
	case <-watching.all:
	case err := <-stopped:
		failure = fmt.Errorf("the scheduler stopped before all was placed: %w", err)
	case <-late.C:
		failure = fmt.Errorf("only %d of %d instances were placed within %s", watching.placed.Load(), result.Instances, deadline)
	}
	wall := time.Since(started)
	result.CPUSeconds = (cpuTime() - cpu).Seconds()
	result.WallSeconds = wall.Seconds()
	result.PerSecond = float64(watching.placed.Load()) / wall.Seconds()
	result.FirstCommitSeconds = time.Duration(watching.firstCommit.Load()).Seconds()
	result.LongestGapSeconds = time.Duration(watching.longestGap.Load()).Seconds()
	result.Refusals = watching.refusals.Load()
	return failure
}

// cpuTime is the user and system time of this process so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		// The call fails only for a bad address or a bad argument, and neither
		// can come from here.
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// liveHeap is the size in bytes of what is still reachable on the heap. The
// second collection frees what finalizers and pools kept through the first.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
