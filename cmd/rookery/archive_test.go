package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/coordinator/archive"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
	"github.com/rookery-project/rookery/projections"
)

const archivePatience = 3 * time.Minute

// longLog is a cluster whose log grows by rejected commands.
type longLog struct {
	*testing.T
	url    string
	bus    *bus.JetStream
	asked  uint64
	folder string
}

func newLongLog(t *testing.T) *longLog {
	t.Helper()
	server, err := embedded.Start(t.TempDir(), "127.0.0.1", embedded.AnyPort)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn, err := nats.Connect(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Init(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	return &longLog{T: t, url: server.URL(), bus: b, folder: t.TempDir()}
}

// lead runs a coordinator until the test calls stop, which returns the coordinator's error.
func (l *longLog) lead() (stop func() error) {
	l.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	c := runner.New(runner.Config{Bus: l.bus, Name: "test", Log: slog.New(slog.DiscardHandler), SnapshotEvery: 200})
	go func() { ended <- c.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// grow sends that many commands that the leader rejects, in parts, and waits until a snapshot covers nearly all of them.
func (l *longLog) grow(commands int) {
	l.Helper()
	const atOnce = 100 // the leader decides them in one round, or a few
	for n := range commands {
		l.asked++
		m := events.Message{Subject: events.CommandSubject(events.ServiceID{Namespace: "demo", Name: "none"}, "scale"), Body: []byte(`{"scale":1}`)}
		if err := l.bus.Send(m); err != nil { // decided waits until the leader has answered
			l.Fatal(err)
		}
		if n%atOnce == 0 || n == commands-1 {
			l.until("the commands to be decided", l.decided)
		}
	}
	l.until("a snapshot of the whole log", func() bool {
		state, err := l.bus.State(l.Context(), bus.Log)
		if err != nil {
			l.Fatal(err)
		}
		at, _, err := snapshots.Last(l.Context(), l.bus, slog.New(slog.DiscardHandler), state.Last, nil)
		return err == nil && state.Last-at < 400 && at > 0
	})
}

func (l *longLog) decided() bool {
	ctx, cancel := context.WithTimeout(l.Context(), time.Second)
	defer cancel()
	m, err := l.bus.Request(ctx, events.Message{Subject: events.APIRoot + ".command", Header: events.Header{}, Body: fmt.Appendf(nil, `{"sequence":%d}`, l.asked)})
	return err == nil && m.Header.Get(bus.HeaderErrorCode) == ""
}

func (l *longLog) until(what string, so func() bool) {
	l.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(archivePatience); !so(); {
		select {
		case <-ticker.C:
		case <-deadline:
			l.Fatal("gave up waiting for " + what)
		}
	}
}

// rookery runs a command of the operator's interface.
func (l *longLog) rookery(args ...string) (string, error) {
	l.Helper()
	var out bytes.Buffer
	cmd := root(&link{})
	cmd.SetOut(&out)
	cmd.SetArgs(append(args, "--server", l.url))
	err := cmd.ExecuteContext(l.Context())
	return out.String(), err
}

func (l *longLog) first() uint64 {
	l.Helper()
	state, err := l.bus.State(l.Context(), bus.Log)
	if err != nil {
		l.Fatal(err)
	}
	return state.First
}

// hashes folds the whole log, and returns the hashes of the state at the ends of some rounds.
func (l *longLog) hashes() map[uint64]string {
	l.Helper()
	state, err := l.bus.State(l.Context(), bus.Log)
	if err != nil {
		l.Fatal(err)
	}
	const places = 9
	all, fold := map[uint64]string{}, projections.NewFold()
	for m, err := range api.ReadLog(l.Context(), l.bus, 1, state.Last) {
		if err != nil {
			l.Fatal(err)
		}
		if _, err := fold.Take(m); err != nil {
			l.Fatal(err)
		}
		if at := fold.Cluster.Sequence; at == m.Sequence && at >= uint64(len(all))*(state.Last/places) {
			all[at] = fold.Cluster.Hash()
		}
	}
	return all
}

// TestTheLogIsArchivedAndLetGoOf archives twice, reads the trimmed part from the archive, and starts without a snapshot.
func TestTheLogIsArchivedAndLetGoOf(t *testing.T) {
	l := newLongLog(t)
	stop := l.lead()
	l.grow(2500)
	hashes := l.hashes()
	out, err := l.rookery("archive", "--to", l.folder, "--keep-bytes", "1KiB")
	if err != nil || !strings.Contains(out, "the log now begins at sequence") || l.first() < 500 {
		t.Fatalf("the log begins at %d: %s%v", l.first(), out, err)
	}
	l.grow(600)
	begins := l.first()
	if out, err := l.rookery("archive", "--to", l.folder, "--keep-bytes", "1KiB"); err != nil || l.first() <= begins {
		t.Fatalf("the log begins at %d, as before: %s%v", l.first(), out, err)
	}
	t.Run("the state is that of before", func(t *testing.T) {
		if len(hashes) < 8 {
			t.Errorf("%d states are compared, want 8 at least", len(hashes))
		}
		for at, hash := range hashes { // each folds the archive
			out, err := l.rookery("state", "--seq", fmt.Sprint(at), "--archive", l.folder, "--output", "json")
			var past api.PastState
			if err := errors.Join(err, json.Unmarshal([]byte(out), &past)); err != nil || past.Hash != hash {
				t.Errorf("at %d: %s, want %s: %v", at, past.Hash, hash, err)
			}
		}
		if _, err := l.rookery("state", "--seq", "20"); err == nil || !strings.Contains(err.Error(), "--archive") {
			t.Errorf("without an archive: %v", err)
		}
	})
	t.Run("replay reads on from the archive", func(t *testing.T) {
		whole, err := l.rookery("replay", "--archive", l.folder, "--output", "json")
		kept, errKept := l.rookery("replay", "--output", "json")
		if err := errors.Join(err, errKept); err != nil || !strings.HasSuffix(whole, kept) || len(whole) < 2*len(kept) {
			t.Errorf("with its archive the log has %d bytes, and without %d: %v", len(whole), len(kept), err)
		}
	})
	t.Run("what-if wants the archive", func(t *testing.T) {
		args := []string{"what-if", "--policy", writeTemp(t, `{"profile":"optimize-utilization"}`)}
		if _, err := l.rookery(args...); !errors.Is(err, snapshots.ErrTrimmed) {
			t.Errorf("without an archive: %v", err)
		}
		if out, err := l.rookery(append(args, "--archive", l.folder)...); err != nil || !strings.Contains(out, "Sequence 1 to ") {
			t.Errorf("with it: %s%v", out, err)
		}
	})
	if out, err := l.rookery("bus", "check"); err != nil || !strings.Contains(out, "the log takes") {
		t.Errorf("bus check: %s%v", out, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	t.Run("without a snapshot nothing is folded", func(t *testing.T) { l.losesSnapshots(t) })
}

func writeTemp(t *testing.T, body string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// losesSnapshots deletes every snapshot of a trimmed log. The archive restores one.
func (l *longLog) losesSnapshots(t *testing.T) {
	objects := l.bus.Objects(bus.ObjectsFolds)
	all, err := objects.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if err := objects.Delete(t.Context(), o.Name); err != nil {
			t.Fatal(err)
		}
	}
	c := runner.New(runner.Config{Bus: l.bus, Name: "test", Log: slog.New(slog.DiscardHandler)})
	if err := c.Run(t.Context()); !errors.Is(err, snapshots.ErrTrimmed) {
		t.Fatalf("a coordinator that cannot fold ends with %v", err)
	}
	if _, err := l.rookery("archive", "--to", l.folder, "--keep-age", "1h"); err != nil {
		t.Fatal(err)
	}
	stop := l.lead()
	l.grow(10)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// TestAnArchiveThatIsDamagedLetsNothingGo damages a file and archives again: the log must stay whole.
func TestAnArchiveThatIsDamagedLetsNothingGo(t *testing.T) {
	l := newLongLog(t)
	stop := l.lead()
	l.grow(1500)
	if out, err := l.rookery("archive", "--to", l.folder, "--keep-bytes", "1KiB"); err != nil {
		t.Fatal(out, err)
	}
	begins := l.first()
	files, err := filepath.Glob(filepath.Join(l.folder, "*.zst"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	body, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	l.grow(1500)
	spoiled := bytes.Clone(body)
	for i := range spoiled[len(spoiled)/2:][:64] { // a single bit may have no effect
		spoiled[len(spoiled)/2+i] ^= 0xff
	}
	for name, content := range map[string][]byte{"some bytes are others": spoiled, "its end is missing": body[:len(body)-20], "it is empty": nil} {
		if err := os.WriteFile(files[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := l.rookery("archive", "--to", l.folder, "--keep-bytes", "1KiB"); !errors.Is(err, archive.ErrDamaged) || l.first() != begins {
			t.Errorf("%s: %v, and the log begins at %d, want %d", name, err, l.first(), begins)
		}
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := l.rookery("archive", "--to", l.folder, "--keep-bytes", "1KiB"); !errors.Is(err, archive.ErrMissing) {
		t.Errorf("without its first file: %v", err)
	}
	body2, err := json.Marshal(runner.Trim{Log: "another", Sequence: begins + 1000, Hash: "x"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := l.bus.Request(t.Context(), events.Message{Subject: events.TrimSubject, Header: events.Header{}, Body: body2})
	if err != nil || m.Header.Get(bus.HeaderErrorCode) != "409" {
		t.Errorf("of another log the leader says %v, %v", m.Header, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
