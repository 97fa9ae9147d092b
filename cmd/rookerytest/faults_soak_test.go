package rookerytest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

var soakFaults = flag.Duration("soak-faults", 0, "inject faults at random for `this long` at least")

// The least that a soak has to come through, however long it takes.
const (
	soakLifecycles = 1000
	soakFaultCount = 150
)

// lookAtSize is after how many faults each it is said how much all parts hold, to show whether that grows on.
const lookAtSize = 20

// TestFaultsSoakOnPodman injects many faults drawn at random. In the end the processes of Rookery must not have grown.
func TestFaultsSoakOnPodman(t *testing.T) {
	t.Parallel()
	if *soakFaults == 0 {
		t.Log("it lasts for long, and runs with -soak-faults alone: see `make soak-faults`")
		return
	}
	f := startTrial(t)
	all := faults()
	const warm = 5 // faults, before anything is measured
	var sum score
	meet := func() {
		// The node of the last host is never killed: what it leaks adds up.
		i := f.random.IntN(len(f.hosts) - 1)
		r := f.face(all[f.random.IntN(len(all))], f.hosts[i], f.hosts[1-i])
		sum.add(r)
		t.Logf("%d, %d lifecycles: %s", sum.faults, f.lifecycles(), r.line())
		if sum.faults%lookAtSize == 0 {
			t.Logf("%d, %d lifecycles: all parts hold %+v", sum.faults, f.lifecycles(), f.held())
		}
	}
	for range warm {
		meet()
	}
	before := f.measure()
	f.startAll()
	end := time.Now().Add(*soakFaults)
	for f.interrupted.Err() == nil && (time.Now().Before(end) || sum.faults < soakFaultCount || f.lifecycles() < soakLifecycles) {
		meet()
	}
	if why, _ := f.settles(); why != "" {
		t.Errorf("at the end: %s", why)
	}
	f.CheckReplay()
	after := f.measure()
	t.Logf("at the beginning %+v, at the end %+v", before, after)
	growth := float64(after.memory-before.memory) / float64(before.memory)
	fmt.Printf("lifecycles %d, faults %d, not converged %d, orphans %d, duplicates %d, memory %+.0f%%, descriptors %+d, goroutines %+d\n",
		f.lifecycles(), sum.faults, sum.faults-sum.converged, sum.orphans, sum.duplicates,
		growth*100, after.descriptors-before.descriptors, after.goroutines-before.goroutines)
	if sum.failed() {
		t.Errorf("of %d faults %d did not converge", sum.faults, sum.faults-sum.converged)
	}
	// Memory and descriptors that garbage collectors and connection pools happen to hold do not count as growth.
	const mostMemory, mostOthers = 0.5, 20
	if growth > mostMemory || after.descriptors-before.descriptors > mostOthers || after.goroutines-before.goroutines > mostOthers {
		t.Error("Rookery has grown: memory, descriptors or goroutines exceed their bounds")
	}
}

// lifecycles returns how many instances were placed and are gone again.
func (f *trial) lifecycles() int {
	if err := f.log.follow(context.Background(), f.Bus()); err != nil {
		f.t.Logf("following the log: %v", err)
	}
	return f.log.removed
}

// size is how much the processes of coordinators and nodes hold together, at rest.
type size struct {
	memory                             int64   // resident, in KiB
	heap                               []int64 // of that, by part, what is mapped from no file: the program's text is, and counts where it was used
	descriptors, goroutines, processes int
}

// parts returns the processes of coordinators and nodes.
func (f *trial) parts() []*process {
	var all []*process
	for _, c := range f.coordinators {
		all = append(all, c.process)
	}
	for _, h := range f.hosts {
		all = append(all, h.node)
	}
	return all
}

// measure measures all parts at rest. They end with it: a program of Go says how many goroutines it has as it ends by SIGQUIT.
func (f *trial) measure() size {
	// Idle connections are closed after a while. Garbage, as a fold from the first message leaves it, is collected within two minutes. It
	// goes back to the kernel after that.
	const rest = 3 * time.Minute
	least := f.held()
	f.within(rest, func() bool {
		now := f.held()
		least.descriptors, least.memory = min(least.descriptors, now.descriptors), min(least.memory, now.memory)
		for i := range least.heap {
			least.heap[i] = min(least.heap[i], now.heap[i])
		}
		return false
	})
	for _, p := range f.parts() {
		p.signal(syscall.SIGQUIT)
		<-p.ended
		least.goroutines += strings.Count(p.output.String(), "\ngoroutine ")
	}
	return least
}

// held returns what all parts hold now.
func (f *trial) held() size {
	var all size
	for _, p := range f.parts() {
		folder := fmt.Sprintf("/proc/%d", p.cmd.Process.Pid)
		status, err := os.ReadFile(folder + "/status")
		if err != nil {
			f.t.Fatalf("a part has ended: %v\n%s", err, p.output)
		}
		all.memory += f.kibibytes(string(status), "VmRSS:")
		all.heap = append(all.heap, f.kibibytes(string(status), "RssAnon:"))
		descriptors, err := os.ReadDir(folder + "/fd")
		if err != nil {
			f.t.Fatal(err)
		}
		all.descriptors += len(descriptors)
		all.processes++
	}
	return all
}

// kibibytes returns what the kernel says of a process under the name.
func (f *trial) kibibytes(status, name string) int64 {
	_, text, _ := strings.Cut(status, name)
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		f.t.Fatalf("%s %v", name, err)
	}
	return n
}

// startAll starts all parts, which have ended.
func (f *trial) startAll() {
	for _, c := range f.coordinators {
		f.startCoordinator(c)
	}
	for _, h := range f.hosts {
		f.startNode(h)
	}
}
