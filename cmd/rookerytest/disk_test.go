package rookerytest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// press publishes commands until stop is called, and then returns those that were acknowledged.
func press(t testing.TB, cluster *rookerytest.Cluster, services int) (stop func() []uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	var acknowledged []uint64
	var pressing sync.WaitGroup
	pressing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			id := events.ServiceID{Namespace: "demo", Name: fmt.Sprintf("s%d", i%services)}
			call, done := context.WithTimeout(ctx, time.Second)
			sequence, err := cluster.Bus().Publish(call, events.Message{
				Subject: events.CommandSubject(id, "scale"), Body: []byte(scaleBody(i % 7)),
			})
			done()
			if err == nil {
				acknowledged = append(acknowledged, sequence)
			}
		}
	})
	return func() []uint64 {
		cancel()
		pressing.Wait()
		return acknowledged
	}
}

func ensureServices(t testing.TB, cluster *rookerytest.Cluster, services int) {
	t.Helper()
	for i := range services {
		cluster.Ensure(fmt.Sprintf("demo/s%d", i), `{"image":"localhost/web:1","scale":2}`)
	}
}

// TestDiskFullAndFreed fills the disk of the store in the middle of rounds, and frees it: the coordinator says what is
// wrong, and once there is room again every acknowledged command has its end.
func TestDiskFullAndFreed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount(t, "-t", "tmpfs", "-o", "size=192m", "tmpfs", dir)
	store, ballast := filepath.Join(dir, "store"), filepath.Join(dir, "ballast")
	port := freePorts(t)
	server, url := startServer(t, store, port)
	cluster := rookerytest.Start(t, rookerytest.WithServer(url), rookerytest.WithoutCoordinator())
	leader := startCoordinator(t, cluster)
	const services = 4
	ensureServices(t, cluster, services)

	stop := press(t, cluster, services)
	fill(t, ballast)
	leader.says(cluster, "free disk")
	acknowledged := stop()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	// The coordinator advises this restart: a store whose write failed may stay closed until the server starts again.
	server.signal(syscall.SIGTERM)
	<-server.ended
	startServer(t, store, port)
	checkEnds(t, cluster, acknowledged)
}

// checkEnds fails the test unless every acknowledged command has its end, and another one works.
func checkEnds(t testing.TB, cluster *rookerytest.Cluster, acknowledged []uint64) {
	t.Helper()
	for _, s := range acknowledged {
		cluster.Outcome(s)
	}
	cluster.Command("demo/s0", "scale", scaleBody(5))
	h := readHistory(t, cluster)
	h.checkCommands(t, acknowledged)
	checkActual(t, cluster, h.cluster)
	cluster.CheckReplay()
	t.Logf("%d commands were acknowledged", len(acknowledged))
}

// fill writes a file until the disk is full.
func fill(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // what it could not write is what it is for
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 16
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPowerCut copies the disk of the store while the server is stopped in the middle of writing, as a power cut leaves it, and continues
// from the copy. No acknowledged command is lost, and no instance that must run was stopped.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk, after := filepath.Join(dir, "disk"), filepath.Join(dir, "after")
	first, second := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	for _, folder := range []string{first, second} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, "truncate", "--size", "256M", disk)
	sh(t, "mkfs.ext4", "-q", disk)
	unmount := mount(t, "-o", "loop", disk, first)
	port := freePorts(t)
	server, url := startServer(t, filepath.Join(first, "store"), port)
	cluster := rookerytest.Start(t, rookerytest.WithServer(url), rookerytest.WithoutCoordinator())
	startCoordinator(t, cluster)
	const services = 4
	ensureServices(t, cluster, services)

	stop := press(t, cluster, services)
	cluster.Until("some rounds are written", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		state, err := cluster.Bus().State(ctx, bus.Log)
		return err == nil && state.Last > 500
	})
	server.signal(syscall.SIGSTOP)
	// The image now holds only what has reached the disk. A power cut loses what the file system has only in memory.
	sh(t, "cp", "--sparse=always", disk, after)
	acknowledged := stop()
	server.kill()
	unmount()
	mount(t, "-o", "loop", after, second)
	startServer(t, filepath.Join(second, "store"), port)
	checkEnds(t, cluster, acknowledged)
}
