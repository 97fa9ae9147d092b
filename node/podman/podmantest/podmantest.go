// Package podmantest gives tests a Podman of their own, and an image to run on it.
//
// It owns the private Podman from start to end, also when the test fails. A machine without Podman fails the test.
//
//	uri := podmantest.Start(t)
//	reference := podmantest.LoadWeb(t, uri)
package podmantest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rookery-project/rookery/deploy/image"
	"github.com/rookery-project/rookery/node/podman"
)

// WebReference is the image that LoadWeb loads: deploy/examples/web.
const WebReference = "localhost/rookery-web:test"

const (
	// startWithin and stopWithin bound the set-up script on a machine that is busy with other tests.
	startWithin = 5 * time.Minute
	stopWithin  = 3 * time.Minute
	buildWithin = 5 * time.Minute
)

// Start starts a private Podman, ends it with the test, and returns the address of its service.
func Start(t testing.TB) string {
	t.Helper()
	return start(t, "")
}

// StartIn is Start in the network namespace at this path, as on a host of its own. The namespace must be there until
// the clean-up of the test has ended the Podman.
func StartIn(t testing.TB, namespace string) string {
	t.Helper()
	return StartOn(t, namespace, "")
}

// prefixes are what the set-up script was prefixed with, by the address of the service.
var prefixes sync.Map

// StartOn is StartIn with all files of the Podman in a folder below this one, as on a disk of its own.
func StartOn(t testing.TB, namespace, parent string) string {
	t.Helper()
	return start(t, parent, within(namespace)...)
}

// within is what has a command run in the network namespace. Not `ip netns exec`: it mounts another /sys, where no cgroups
// are.
func within(namespace string) []string { return []string{"nsenter", "--net=" + namespace} }

// start has the set-up script run by what is prefixed, for a folder below the parent.
func start(t testing.TB, parent string, prefix ...string) string {
	t.Helper()
	// Not t.TempDir: its path holds the test's name, and is too long for a socket.
	dir, err := os.MkdirTemp(parent, "rk")
	if err != nil {
		t.Fatal(err)
	}
	script := func(within time.Duration, verb string) (string, error) {
		words := append(slices.Clone(prefix), filepath.Join(root(t), "deploy", "podman"), verb, dir)
		return run(within, root(t), words[0], words[1:]...)
	}
	t.Cleanup(func() {
		if out, err := script(stopWithin, "stop"); err != nil {
			t.Errorf("ending the private Podman in %s: %v\n%s", dir, err, out)
		}
	})
	out, err := script(startWithin, "start")
	if err != nil {
		t.Fatalf("starting a private Podman: %v\n%s\nTo install what it needs: deploy/podman install", err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	uri := lines[len(lines)-1]
	prefixes.Store(uri, prefix)
	return uri
}

// LoadWeb builds the example web server, loads it as an image into each Podman and returns the image's reference.
func LoadWeb(t testing.TB, uris ...string) string {
	t.Helper()
	archive := WebArchive(t)
	for _, uri := range uris {
		load(t, uri, archive)
	}
	return WebReference
}

// WebArchive builds the example web server and returns a docker-archive of its image, whose entry point has these
// arguments.
func WebArchive(t testing.TB, args ...string) []byte {
	t.Helper()
	archive, err := image.Archive(WebReference, runtime.GOARCH, build(t, "web"), append([]string{"/web"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// OwnWebArchive is WebArchive of an image of this reference that shares no layer with any other: the program has the reference
// behind its end.
func OwnWebArchive(t testing.TB, reference string) []byte {
	t.Helper()
	archive, err := image.Archive(reference, runtime.GOARCH, append(build(t, "web"), reference...), "/web")
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// ShardKVReference is the reference of the example of a stateful service.
const ShardKVReference = "localhost/rookery/shardkv:1"

// LoadShardKV builds the example of a stateful service and loads it as an image into each Podman.
func LoadShardKV(t testing.TB, uris ...string) {
	t.Helper()
	archive, err := image.Archive(ShardKVReference, runtime.GOARCH, build(t, "shardkv"), "/shardkv")
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range uris {
		load(t, uri, archive)
	}
}

// programs are those of the examples, each built once for all tests of the process.
var programs = map[string]func() ([]byte, error){
	"web":     sync.OnceValues(func() ([]byte, error) { return compile("web") }),
	"shardkv": sync.OnceValues(func() ([]byte, error) { return compile("shardkv") }),
}

// build returns the program of an example.
func build(t testing.TB, example string) []byte {
	t.Helper()
	program, err := programs[example]()
	if err != nil {
		t.Fatalf("building the example %s: %v", example, err)
	}
	return program
}

func compile(example string) (program []byte, err error) {
	dir, err := os.MkdirTemp("", "rookery-example")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	top, err := findRoot()
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, example)
	out, err := run(buildWithin, top, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags=-s -w",
		"-o", binary, "./deploy/examples/"+example)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return os.ReadFile(binary)
}

func load(t testing.TB, uri string, archive []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
	engine, err := podman.Connect(ctx, uri)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if err := engine.Load(ctx, bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
}

// run runs the command apart from the test's context: the end of the test is when a clean-up needs it.
func run(within time.Duration, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	return out.String(), err
}

// root returns the folder of the repository.
func root(t testing.TB) string {
	t.Helper()
	dir, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// findRoot returns the folder of the repository: tests run in that of their package.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "deploy", "podman"))
		if err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if !errors.Is(err, fs.ErrNotExist) || parent == dir {
			return "", fmt.Errorf("deploy/podman is in no folder above this package: %w", err)
		}
		dir = parent
	}
}
