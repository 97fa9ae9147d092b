package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/cmd/simulation/world"
)

// workerVariable tells a process that it is a worker.
const workerVariable = "ROOKERY_SIMULATION_WORKER"

// resultsFile is the file descriptor on which a worker writes results. Its other outputs show why it ended.
const resultsFile = 3

// hungAfter is how long one run may take in real time.
const hungAfter = 5 * time.Minute

// errCrashed occurs when a run ends its process: by a panic, a deadlock, or a goroutine that never ends.
var errCrashed = errors.New("the run ended its process")

// task is what a worker runs: a plan, with a transcript or without.
type task struct {
	Plan   world.Plan
	Script bool
}

// work runs the plans on its input, one a line, until the input ends. Only a test can create a bubble of simulated time, so the worker is
// one.
func work() {
	testing.Init()
	if err := flag.CommandLine.Parse(nil); err != nil {
		panic(err)
	}
	const roomy = 512 << 20 // bytes: below this limit the garbage of a run is not collected
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(roomy)
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{
		Name: "simulation", F: func(t *testing.T) {
			in, out := bufio.NewReader(os.Stdin), bufio.NewWriter(os.NewFile(resultsFile, "results"))
			for {
				line, err := in.ReadBytes('\n')
				if err != nil {
					os.Exit(0)
				}
				if err := answer(t, line, out); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
			}
		},
	}}, nil, nil)
}

func answer(t *testing.T, line []byte, out *bufio.Writer) error {
	var k task
	if err := json.Unmarshal(line, &k, world.Codec); err != nil {
		return err
	}
	run := world.Run
	if k.Script {
		run = world.Script
	}
	body, err := json.Marshal(run(t, k.Plan), world.Codec)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(body, '\n')); err != nil {
		return err
	}
	return out.Flush()
}

// worker is a process that runs plans. There is one process for each core. A run that ends its process leaves the others alone, and
// goroutines of one run never wait for those of another.
type worker struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	pipe *os.File
	said *tail
}

func startWorker(ctx context.Context) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	results, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close() //nolint:errcheck // the worker has its own
	w := &worker{cmd: exec.CommandContext(ctx, self), out: bufio.NewReader(results), pipe: results, said: &tail{}}
	w.cmd.Env = append(os.Environ(), workerVariable+"=1", "GOMAXPROCS=1")
	w.cmd.Stdout, w.cmd.Stderr, w.cmd.ExtraFiles = w.said, w.said, []*os.File{theirs}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, results.Close())
	}
	if err := w.cmd.Start(); err != nil {
		return nil, errors.Join(err, results.Close())
	}
	return w, nil
}

// run runs a plan on the worker. The worker cannot be used again after errCrashed.
func (w *worker) run(k task) (world.Result, error) {
	body, err := json.Marshal(k, world.Codec)
	if err != nil {
		return world.Result{}, err
	}
	hung := time.AfterFunc(hungAfter, w.end)
	defer hung.Stop()
	if _, err := w.in.Write(append(body, '\n')); err != nil {
		return world.Result{}, w.crashed(err)
	}
	line, err := w.out.ReadBytes('\n')
	if err != nil {
		return world.Result{}, w.crashed(err)
	}
	var r world.Result
	return r, json.Unmarshal(line, &r, world.Codec)
}

// crashed returns an error that shows how the process ended.
func (w *worker) crashed(err error) error {
	return fmt.Errorf("%w: %w\n%s", errCrashed, errors.Join(err, w.stop()), w.said)
}

// end ends a worker that hangs.
func (w *worker) end() {
	if err := w.cmd.Process.Kill(); err != nil {
		fmt.Fprintln(os.Stderr, "simulation: cannot end a run that hangs:", err)
	}
}

// stop ends the worker, and returns how it ended.
func (w *worker) stop() error {
	return errors.Join(w.in.Close(), w.pipe.Close(), w.cmd.Wait())
}

// tail keeps the beginning of a process's output, which shows why it ended.
type tail struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 8000
	if t.text.Len() < most {
		t.text.Write(p)
	}
	return len(p), nil
}

// String returns the kept output.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
