package podman

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/node"
)

// killed is the exit code of a process that SIGKILL ended.
const killed = 137

// oomCounter returns the file in which the kernel counts what it killed in the process's cgroup for want of memory, or
// "" where it is not to be found. Podman goes by an event that its monitor mostly misses where the process ends at once;
// the count stands until Podman has cleaned up, some 200 ms after the end.
func oomCounter(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	unified := ""
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[1] == "memory":
			return "/sys/fs/cgroup/memory" + fields[2] + "/memory.oom_control"
		case fields[0] == "0":
			unified = "/sys/fs/cgroup" + fields[2] + "/memory.events"
		}
	}
	return unified
}

// counted reports whether the kernel has counted a kill in the file.
func counted(file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	for line := range bytes.Lines(text) {
		if count, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill ")); ok {
			return string(count) != "0"
		}
	}
	return false
}

// blame tells of a container that was killed whether that was for want of memory, from what was seen at its end.
func (e *Engine) blame(c node.Container) node.Container {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.starved[c.Handle]; ok && c.State == node.Exited && c.ExitCode == killed {
		c.OOMKilled = true
	}
	return c
}
