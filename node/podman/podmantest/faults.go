package podmantest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ServicePID returns the process ID of the service that Start started at uri, for tests that stop or kill it.
func ServicePID(t testing.TB, uri string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(strings.TrimPrefix(uri, "unix://")), "podman.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// KillService kills the service with SIGKILL, in the middle of whatever it does. Its containers keep running. KillService returns once
// the process is gone, and its socket refuses connections.
func KillService(t testing.TB, uri string) {
	t.Helper()
	pid := ServicePID(t, uri)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, pid)
}

// RestartService starts the service again on the same socket, after KillService, and returns once it answers.
func RestartService(t testing.TB, uri string) {
	t.Helper()
	script(t, uri, "restart")
}

// Reboot leaves Podman in the state after a power cut of the machine: it kills all processes, monitors first, and clears the run
// directory. It returns once the service answers again.
func Reboot(t testing.TB, uri string) {
	t.Helper()
	script(t, uri, "reboot")
}

// script runs the set-up script as the service at uri was started.
func script(t testing.TB, uri, verb string) {
	t.Helper()
	prefix, _ := prefixes.Load(uri)
	words, _ := prefix.([]string)
	words = append(slices.Clone(words), filepath.Join(root(t), "deploy", "podman"), verb, folder(uri))
	if out, err := run(startWithin, root(t), words[0], words[1:]...); err != nil {
		t.Fatalf("%s of the Podman at %s: %v\n%s", verb, uri, err, out)
	}
}

// HangService stops the service with SIGSTOP: it accepts connections and answers none. ContinueService resumes it.
func HangService(t testing.TB, uri string) { signalService(t, uri, syscall.SIGSTOP) }

// ContinueService resumes a service after HangService.
func ContinueService(t testing.TB, uri string) { signalService(t, uri, syscall.SIGCONT) }

func signalService(t testing.TB, uri string, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(ServicePID(t, uri), signal); err != nil {
		t.Fatal(err)
	}
}

// State is what Podman reports about a container's processes.
type State struct {
	Status    string
	Pid       int
	ConmonPid int
}

// StateOf asks Podman's own command for the state of a container. It works even if the service does not.
func StateOf(t testing.TB, uri, handle string) State {
	t.Helper()
	out, err := Podman(uri, "inspect", "--type", "container", "--format", "{{json .State}}", handle)
	var state State
	if err == nil {
		err = json.Unmarshal(out, &state)
	}
	if err != nil {
		t.Fatalf("asking Podman for the state of %s: %v: %s", handle, err, out)
	}
	return state
}

// Podman runs the private Podman's own command, and returns what it prints.
func Podman(uri string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	return exec.CommandContext(ctx, filepath.Join(folder(uri), "podman"), args...).CombinedOutput()
}

func folder(uri string) string { return filepath.Dir(strings.TrimPrefix(uri, "unix://")) }

// awaitEnd waits until the process is gone, or is a zombie that its parent does not collect.
func awaitEnd(t testing.TB, pid int) {
	t.Helper()
	const often, patience = 5 * time.Millisecond, 10 * time.Second
	again := time.NewTicker(often)
	defer again.Stop()
	for over := time.After(patience); ; {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-again.C:
		case <-over:
			t.Fatalf("process %d does not end", pid)
		}
	}
}

// Kill kills the container's own process with SIGKILL, as in a crash, without a call to Podman.
func Kill(t testing.TB, uri, handle string) {
	t.Helper()
	dir := folder(uri)
	out, err := run(startWithin, root(t), filepath.Join(dir, "podman"), "inspect", "--format", "{{.State.Pid}}", handle)
	if err != nil {
		t.Fatalf("asking Podman for the process of %s: %v\n%s", handle, err, out)
	}
	var pid int
	if _, err := fmt.Sscan(out, &pid); err != nil || pid <= 1 {
		t.Fatalf("container %s has no process: %q, %v", handle, out, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// ShrinkStorage moves the storage with its content to a file system in memory of this many bytes, and returns its path. It restarts the
// service. Containers may run during that only if they need neither the service nor the storage.
func ShrinkStorage(t testing.TB, uri string, size int) string {
	t.Helper()
	KillService(t, uri)
	storage := filepath.Join(folder(uri), "root")
	const script = `set -e; mkdir "$1.old"; cp -a "$1/." "$1.old/"; mount -t tmpfs -o size="$2",mode=700 tmpfs "$1"; cp -a "$1.old/." "$1/"; rm -rf "$1.old"`
	if out, err := run(startWithin, "/", "sh", "-c", script, "sh", storage, fmt.Sprint(size)); err != nil {
		t.Fatalf("mounting a small storage: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		KillService(t, uri)
		// The storage below has mounts, too, which the end of this Podman must find.
		if out, err := run(startWithin, "/", "umount", "--recursive", "--lazy", storage); err != nil {
			t.Errorf("unmounting the small storage: %v\n%s", err, out)
		}
	})
	RestartService(t, uri)
	return storage
}
