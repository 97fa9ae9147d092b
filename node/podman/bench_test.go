package podman_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rookery-project/rookery/node"
)

// BenchmarkExit measures the time from the kill of a container's process to the hint of it, and on to the answer of
// Inspect that has the exit code, and how long it takes then to have what it printed last.
func BenchmarkExit(b *testing.B) {
	p := newBench(b)
	h := p.watch(b)
	var hinted, inspected, output []time.Duration
	for b.Loop() {
		plan := p.plan(b, "-print", "100")
		c := p.prepare(b, plan)
		p.start(b, c)
		pid := p.pid(b, c)
		killed := time.Now()
		kill(b, pid)
		hinted = append(hinted, h.wait(b, plan.Instance).Sub(killed))
		got := p.inspect(b, plan)
		inspected = append(inspected, time.Since(killed))
		if got == nil || got.State != node.Exited || got.ExitCode != 137 {
			b.Fatalf("after a kill there is %+v", got)
		}
		began := time.Now()
		text, err := p.engine.Output(b.Context(), *got)
		output = append(output, time.Since(began))
		if err != nil || !bytes.HasSuffix(text, []byte("line 100 of 100\n")) {
			b.Fatalf("it printed last %q, %v", text, err)
		}
		p.remove(b, c)
	}
	report(b, "hint", hinted)
	report(b, "inspect", inspected)
	report(b, "output", output)
}

// BenchmarkStart measures create and start through the engine and, in turn, by bare requests.
func BenchmarkStart(b *testing.B) {
	p := newBench(b)
	bare := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(p.uri, "unix://"))
	}}}
	defer bare.CloseIdleConnections()
	var create, start, bareCreate, bareStart []time.Duration
	for b.Loop() {
		plan := p.plan(b)
		began := time.Now()
		c := p.prepare(b, plan)
		create = append(create, time.Since(began))
		began = time.Now()
		p.start(b, c)
		start = append(start, time.Since(began))
		p.remove(b, c)

		name := fmt.Sprintf("bare%d", len(create))
		began = time.Now()
		post(b, bare, "containers/create", map[string]any{
			"name": name, "image": p.image, "cap_drop": []string{"all"}, "restart_policy": "no",
			"netns": map[string]string{"nsmode": "bridge"}, "no_new_privileges": true, "systemd": "false",
			"r_limits": []map[string]any{
				{"type": "nofile", "hard": 4096, "soft": 4096}, {"type": "nproc", "hard": 4096, "soft": 4096},
			},
		})
		bareCreate = append(bareCreate, time.Since(began))
		began = time.Now()
		post(b, bare, "containers/"+name+"/start", nil)
		bareStart = append(bareStart, time.Since(began))
		p.remove(b, node.Container{Handle: name})
	}
	report(b, "create", create)
	report(b, "start", start)
	report(b, "bare-create", bareCreate)
	report(b, "bare-start", bareStart)
}

// BenchmarkList measures List and Inspect beside 20 running containers.
func BenchmarkList(b *testing.B) {
	p := newBench(b)
	var last node.Plan
	for range 20 {
		last = p.plan(b)
		p.start(b, p.prepare(b, last))
	}
	var list, inspect []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := p.engine.List(b.Context(), owner); err != nil {
			b.Fatal(err)
		}
		list = append(list, time.Since(began))
		began = time.Now()
		p.inspect(b, last)
		inspect = append(inspect, time.Since(began))
	}
	report(b, "list", list)
	report(b, "inspect", inspect)
}

// BenchmarkStats measures 200 running containers at once, and what of the processor that takes here.
func BenchmarkStats(b *testing.B) {
	const containers = 200
	p := newBench(b)
	for range containers {
		p.start(b, p.prepare(b, p.plan(b)))
	}
	var stats, own []time.Duration
	for b.Loop() {
		began, before := time.Now(), spent(b)
		all, err := p.engine.Stats(b.Context())
		stats, own = append(stats, time.Since(began)), append(own, spent(b)-before)
		if err != nil || len(all) < containers {
			b.Fatalf("of %d containers %d are measured: %v", containers, len(all), err)
		}
	}
	report(b, "stats", stats)
	report(b, "own-cpu", own)
}

// spent is the time of the processor that this process has had.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func post(b *testing.B, client *http.Client, path string, body any) {
	b.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://podman/v4.0.0/libpod/"+path,
		bytes.NewReader(encoded))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }() // read to its end
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusBadRequest {
		b.Fatalf("%s: status %d, %v: %s", path, answer.StatusCode, err, text)
	}
}

func report(b *testing.B, what string, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, what+"-p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, what+"-p99-ms")
}
