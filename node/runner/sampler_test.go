package runner

import (
	"testing"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// stats are those of a container that has used so much.
func stats(cpu time.Duration, memory uint64) node.Stats {
	return node.Stats{CPU: &cpu, Memory: &memory, Received: new(memory), Sent: new(memory)}
}

func TestWhatAProcessUsesIsNullUntilItIsKnown(t *testing.T) {
	web := events.ServiceID{Namespace: "demo", Name: "web"}
	alone := process{id: events.InstanceID{Service: web, Generation: 1}, handles: []string{"a"}}
	both := process{id: events.InstanceID{Service: web, Ordinal: 1, Generation: 1}, handles: []string{"b", "b-sidecar"}}
	running, now := []process{alone, both}, time.Now()
	var s sampler

	first := s.take(running, map[string]node.Stats{"a": stats(time.Second, 10), "b": stats(time.Second, 20), "b-sidecar": stats(0, 5)}, now)
	if a := first[0]; a.CPUNanoCores != nil || *a.MemoryBytes != 10 || a.DiskBytes != nil {
		t.Errorf("first measured, it uses %+v: its processor usage must be unknown", a.ProcessUse)
	}
	if b := first[1]; *b.MemoryBytes != 25 || *b.NetworkSentBytes != 20 {
		t.Errorf("with its sidecar, which has its network, it uses %d bytes of memory and sent %d, want 25 and 20", *b.MemoryBytes, *b.NetworkSentBytes)
	}

	later := now.Add(2 * time.Second)
	second := s.take(running, map[string]node.Stats{"a": stats(1500*time.Millisecond, 10), "b": stats(2*time.Second, 20)}, later)
	if a := second[0]; a.CPUNanoCores == nil || *a.CPUNanoCores != 250_000_000 {
		t.Errorf("half a second of the processor in two is %v billionths of a core", a.CPUNanoCores)
	}
	if b := second[1]; b.CPUNanoCores != nil || b.MemoryBytes != nil {
		t.Errorf("nothing was measured of its sidecar, and it uses %+v", b.ProcessUse)
	}

	began := s.take(running, map[string]node.Stats{"a": stats(time.Millisecond, 10)}, later.Add(time.Second))
	if a := began[0]; a.CPUNanoCores != nil {
		t.Errorf("after its restart it uses %d billionths of a core, want unknown", *a.CPUNanoCores)
	}
}
