package rookerytest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

const (
	// portBlock is how many ports freePorts takes at once: the last is held.
	portBlock = 100
	// The blocks lie below the ports that the kernel gives to programs that ask for any.
	portBlocks = 220
	firstBlock = 10_000
)

// freePorts returns the first of portBlock-1 free ports in a row, for servers that restart on their port and for ports of containers. It
// holds the port behind them until the end of the test, so that no other test of this machine takes the block.
func freePorts(t testing.TB) int {
	t.Helper()
	for _, block := range rand.Perm(portBlocks) {
		first := firstBlock + block*portBlock
		held, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+portBlock-1)) //nolint:noctx // it opens at once
		if err != nil {
			continue
		}
		if allFree(first) {
			t.Cleanup(func() { _ = held.Close() }) // nothing was written
			return first
		}
		_ = held.Close()
	}
	t.Fatalf("no block of %d ports is free from %d on", portBlock, firstBlock)
	return 0
}

// freePortRange is the whole block of freePorts, as a node takes it.
func freePortRange(t testing.TB) string {
	t.Helper()
	first := freePorts(t)
	return fmt.Sprintf("%d-%d", first, first+portBlock-2)
}

// allFree reports whether nothing listens on the ports of the block, but for the last.
func allFree(first int) bool {
	for port := first; port < first+portBlock-1; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)) //nolint:noctx // it opens at once
		if err != nil {
			return false
		}
		_ = l.Close() // nothing was written
	}
	return true
}

// startCluster is rookerytest.Start on a NATS server that is a process of its own.
func startCluster(t testing.TB, options ...rookerytest.Option) *rookerytest.Cluster {
	t.Helper()
	_, url := startServer(t, t.TempDir(), anyPort)
	return rookerytest.Start(t, append([]rookerytest.Option{rookerytest.WithServer(url)}, options...)...)
}

// anyPort makes a server listen on any free port.
const anyPort = -1

// startServer runs a NATS server on the loopback that keeps its streams in the folder, and returns it with its URL.
func startServer(t testing.TB, folder string, port int) (*process, string) {
	t.Helper()
	return startServerAt(t, folder, "127.0.0.1", port)
}

// listening is what the server says before it is ready, with its address.
var listening = regexp.MustCompile(`Listening for client connections on (\S+)`)

func startServerAt(t testing.TB, folder, host string, port int) (*process, string) {
	t.Helper()
	p, _ := startConfigured(t, fmt.Sprintf("listen: \"%s:%d\"\njetstream {store_dir: %q, sync_interval: always}\n", host, port, folder))
	return p, "nats://" + listening.FindStringSubmatch(p.output.String())[1]
}

// startConfigured runs a NATS server with the configuration. The process can be started again.
func startConfigured(t testing.TB, text string) (p *process, again func() *process) {
	t.Helper()
	path, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	again = func() *process {
		t.Helper()
		p := newProcess(t, exec.Command(path, "--config", config)) //nolint:noctx // ended by the test
		p.start()
		if !ready(p) {
			t.Fatalf("the NATS server did not start:\n%s", p.output)
		}
		return p
	}
	return again(), again
}

// ready waits until the NATS server is ready. It reports false if that ends or takes too long.
func ready(server *process) bool { return server.prints("Server is ready") }

// prints waits until the process has printed the words. It reports false if that ends before, or takes too long.
func (p *process) prints(words string) bool {
	ticker := time.NewTicker(lookEvery / 10)
	defer ticker.Stop()
	late := time.After(settlesWithin)
	for {
		select {
		case <-ticker.C:
			if strings.Contains(p.output.String(), words) {
				return true
			}
		case <-p.ended:
			return false
		case <-late:
			return false
		}
	}
}

// sh runs a command of the system and returns what it prints.
func sh(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput() //nolint:noctx // short
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// mount mounts a file system until the test ends, or until what it returns is called.
func mount(t testing.TB, args ...string) (unmount func()) {
	t.Helper()
	folder := args[len(args)-1]
	sh(t, "mount", args...)
	mounted := true
	unmount = func() {
		if mounted {
			mounted = false
			umount(t, folder)
		}
	}
	t.Cleanup(unmount)
	return unmount
}

// umount unmounts everything in the folder. The folder may be busy for a while, because each new container on this machine holds all mounts
// for a moment.
func umount(t testing.TB, folder string) {
	t.Helper()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	// Not the test's own context, which has ended when this is called to clean up.
	ctx, cancel := context.WithTimeout(context.Background(), settlesWithin)
	defer cancel()
	for {
		out, err := exec.CommandContext(ctx, "umount", folder).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("umount %s: %v\n%s", folder, err, out)
		}
	}
}
