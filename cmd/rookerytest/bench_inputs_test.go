package rookerytest_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// inputsFor is how long BenchmarkInputs publishes honest commands.
var inputsFor = flag.Duration("inputs", 10*time.Second, "how long BenchmarkInputs publishes 200 commands a second")

// BenchmarkInputs publishes 200 commands of 2 KiB a second, and then 5,000 of 64 KiB that are rejected, with at most 100 that are not
// acknowledged. It counts what the stream refuses, and measures what stream, server and coordinator take at most.
func BenchmarkInputs(b *testing.B) {
	const perSecond, size, rejected, rejectedSize, services = 200, 2 << 10, 5000, 64<<10 - 12, 20 // with its field the last is 64 KiB
	for b.Loop() {
		folder := b.TempDir()
		server, url := startServer(b, folder, anyPort)
		cluster := rookerytest.Start(b, rookerytest.WithServer(url), rookerytest.WithoutCoordinator())
		leader := startCoordinator(b, cluster)
		refused, published, stored, onDisk := 0, 0, uint64(0), int64(0)
		look := func() {
			state, err := cluster.Bus().State(b.Context(), bus.Commands)
			if err != nil {
				b.Fatal(err)
			}
			stored, onDisk = max(stored, state.Bytes), max(onDisk, sizeOfStream(b, folder, bus.Commands))
		}
		each := time.NewTicker(time.Second / perSecond)
		defer each.Stop()
		for began := time.Now(); time.Since(began) < *inputsFor; published++ {
			<-each.C
			body := fmt.Sprintf(`{"image":"localhost/web:1","scale":0,"busy":"supersede","env":{"N":"%d","PAD":%q}}`, published, strings.Repeat("x", size))
			subject := fmt.Sprintf("rookery.cmd.service.demo.s%d.ensure", published%services)
			if _, err := cluster.Bus().Publish(b.Context(), events.Message{Subject: subject, Header: events.Header{}, Body: []byte(body)}); err != nil {
				refused++
			}
			if published%perSecond == 0 {
				look()
			}
		}
		refused += flood(b, cluster.Conn, rejected, rejectedSize)
		look()
		last := cluster.Publish("demo/last", "ensure", `{"image":"localhost/web:1","scale":0}`)
		cluster.Outcome(last)
		b.ReportMetric(float64(published), "commands")
		b.ReportMetric(float64(refused), "refused")
		b.ReportMetric(float64(stored)/(1<<20), "MiB-in-stream")
		b.ReportMetric(float64(onDisk)/(1<<20), "MiB-of-it-on-disk")
		b.ReportMetric(peakMemory(b, leader.cmd.Process.Pid), "MiB-coordinator")
		b.ReportMetric(peakMemory(b, server.cmd.Process.Pid), "MiB-server")
	}
}

// sizeOfStream is how much the files of a stream take, in bytes.
func sizeOfStream(b *testing.B, folder string, stream bus.Stream) (size int64) {
	b.Helper()
	found := false
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(path, "/"+string(stream)+"/") {
			return ignoreGone(err)
		}
		info, err := entry.Info()
		if err == nil {
			size, found = size+info.Size(), true
		}
		return ignoreGone(err)
	})
	if err != nil || !found {
		b.Fatalf("the files of %s are not found: %v", stream, err)
	}
	return size
}

// ignoreGone ignores files that the server has deleted meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// peakMemory is the most memory that a process has had, in MiB.
func peakMemory(b *testing.B, pid int) float64 {
	b.Helper()
	return memoryOf(b, pid, "VmHWM")
}

// memoryOf is what the system says of the memory of a process, in MiB.
func memoryOf(t testing.TB, pid int, what string) float64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib float64
		if _, err := fmt.Sscanf(line, what+": %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	t.Fatalf("the system does not say %s of process %d", what, pid)
	return 0
}
