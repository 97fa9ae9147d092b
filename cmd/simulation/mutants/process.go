package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is a program to run within a time limit.
type process struct {
	binary, dir string
	args, env   []string
	limit       time.Duration
}

// ended is how a process ended.
type ended struct {
	failed bool
	killed bool          // by a limit on its time
	took   time.Duration // CPU time
	said   []byte
}

// run runs the process to its end. It returns an error only if the process did not start or the context ended.
func (p process) run(ctx context.Context) (ended, error) {
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	cmd := exec.CommandContext(limited, p.binary, p.args...)
	var said bytes.Buffer
	cmd.Dir, cmd.Env = p.dir, append(append(os.Environ(), "GOMAXPROCS=1", "GOGC=400"), p.env...)
	cmd.Stdout, cmd.Stderr = &said, &said
	asGroup(cmd)
	err := cmd.Run()
	e := ended{failed: err != nil, said: said.Bytes()}
	if ctx.Err() != nil {
		return e, ctx.Err()
	}
	if cmd.ProcessState == nil {
		return e, err
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	e.killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	e.took = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return e, nil
}

// asGroup makes a cancellation end the command with all processes that it started.
func asGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
}

// why returns the name of the test that failed, or the line that shows why the process died.
func (e ended) why() string {
	if e.killed {
		return "time limit"
	}
	for line := range strings.Lines(string(e.said)) {
		line = strings.TrimSpace(line)
		if test, failed := strings.CutPrefix(line, "--- FAIL: "); failed {
			test, _, _ = strings.Cut(test, " (")
			return test
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	return "exit code"
}
