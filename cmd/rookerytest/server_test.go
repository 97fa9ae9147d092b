package rookerytest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/events/bus/embedded"
)

// serverFolder is the variable that has this test program be a NATS server with its store in the folder, for tests that
// stop or kill one; serverHost and serverPort are where it listens.
const (
	serverFolder = "ROOKERYTEST_SERVER_FOLDER"
	serverHost   = "ROOKERYTEST_SERVER_HOST"
	serverPort   = "ROOKERYTEST_SERVER_PORT"
)

// serve is a NATS server until SIGTERM.
func serve(dir string) {
	port, err := strconv.Atoi(os.Getenv(serverPort))
	if err == nil {
		err = serveOn(dir, port)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serveOn(dir string, port int) error {
	s, err := embedded.Start(dir, os.Getenv(serverHost), port)
	if err != nil {
		return err
	}
	defer s.Stop()
	fmt.Println(s.URL())
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	return nil
}

// freePort returns a port that was free a moment ago: a server that is started again must find its clients.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it opens at once
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// startServer runs a NATS server on the loopback as a process of its own and returns it with its URL.
func startServer(t testing.TB, dir string, port int) (*process, string) {
	t.Helper()
	return startServerAt(t, dir, "127.0.0.1", port)
}

func startServerAt(t testing.TB, dir, host string, port int) (*process, string) {
	t.Helper()
	p := newProcess(t, exec.Command(os.Args[0])) //nolint:noctx // ended by the test
	p.cmd.Env = append(os.Environ(), serverFolder+"="+dir, serverHost+"="+host, serverPort+"="+strconv.Itoa(port))
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the NATS server did not start: %v\n%s", err, p.output)
	}
	return p, strings.TrimSpace(url)
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

// umount unmounts what is mounted in the folder. It may be busy for a while, and not by this test: each container that is made on this
// machine has all mounts for a moment.
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
