package backup

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/runner/recorded"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/bus/embedded"
	"github.com/rookery-project/rookery/projections"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect returns the bus of an empty server that ends with the test.
func connect(t *testing.T) *bus.JetStream {
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
	return b
}

// writes fills the log of a bus with messages behind those that it has.
func writes(t *testing.T, b *bus.JetStream, after uint64, messages []events.Message) {
	t.Helper()
	f := &filler{ctx: t.Context(), bus: b, after: after}
	for _, m := range messages {
		if err := f.add(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.flush(); err != nil {
		t.Fatal(err)
	}
}

// begins makes a log with the messages.
func begins(t *testing.T, b *bus.JetStream, id string, messages []events.Message) {
	t.Helper()
	filling, err := b.BeginRestore(t.Context(), id, 1)
	if err != nil {
		t.Fatal(err)
	}
	writes(t, b, 0, messages)
	if err := b.EndRestore(t.Context(), filling, uint64(len(messages))); err != nil {
		t.Fatal(err)
	}
}

// at is when backups of tests are taken, one second after the other.
var at = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func source(b *bus.JetStream, second int) Source {
	return Source{
		Bus: b, By: "test", Now: func() time.Time { return at.Add(time.Duration(second) * time.Second) },
		Log: func(ctx context.Context, from, to uint64) iter.Seq2[events.Message, error] {
			return api.ReadLog(ctx, b, from, to)
		},
	}
}

func take(t *testing.T, b *bus.JetStream, s Store, second int) Manifest {
	t.Helper()
	m, err := Take(t.Context(), source(b, second), s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func verify(t *testing.T, s Store, m Manifest) *projections.Cluster {
	t.Helper()
	state, err := Verify(t.Context(), s, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func folder(t *testing.T) Folder {
	t.Helper()
	f, err := NewFolder(filepath.Join(t.TempDir(), "backups"))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// kept is a recorded log, in two halves.
type kept struct {
	*recorded.Log
	b      *bus.JetStream
	middle uint64
}

// start makes a bus with the first half of a recorded log, and with a config.
func start(t *testing.T) kept {
	t.Helper()
	r := recorded.Read(t, "v1-snapshots.json")
	k := kept{Log: r, b: connect(t), middle: r.Rounds[len(r.Rounds)/2]}
	begins(t, k.b, r.ID, r.Messages[:k.middle])
	setConfig(t, k.b, "first")
	return k
}

func setConfig(t *testing.T, b *bus.JetStream, value string) {
	t.Helper()
	configs, err := b.Bucket(t.Context(), bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	if err := configs.Set(t.Context(), "demo.web-conf", []byte(value)); err != nil {
		t.Fatal(err)
	}
}

// isAsItWas holds a bus to have the log up to the place, and the value of the config.
func isAsItWas(t *testing.T, b *bus.JetStream, k kept, to uint64, config string) {
	t.Helper()
	fold, next := projections.NewFold(), 0
	for m, err := range source(b, 0).Log(t.Context(), 1, to) {
		if err != nil {
			t.Fatal(err)
		}
		want := k.Messages[next]
		if m.Subject != want.Subject || !reflect.DeepEqual(written(m.Header), written(want.Header)) || string(m.Body) != string(want.Body) {
			t.Fatalf("message %d is %v, and was %v", m.Sequence, m, want)
		}
		if _, err := fold.Take(m); err != nil {
			t.Fatal(err)
		}
		next++
	}
	if fold.Cluster.Hash() != k.HashAt(to) {
		t.Error("the log folds to another state")
	}
	if state, err := b.State(t.Context(), bus.Log); err != nil || state.Last != to || state.Identity != k.ID {
		t.Errorf("the log is %+v, %v", state, err)
	}
	configs, err := b.Bucket(t.Context(), bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := configs.Get(t.Context(), "demo.web-conf"); err != nil || string(e.Value) != config {
		t.Errorf("the config is %q, %v", e.Value, err)
	}
}

func ignore(events.Message) {}

// TestWhatIsRestoredIsWhatWasBackedUp backs up twice, and restores each of both to an empty bus.
func TestWhatIsRestoredIsWhatWasBackedUp(t *testing.T) {
	k, s := start(t), folder(t)
	first := take(t, k.b, s, 1)
	end := uint64(len(k.Messages))
	writes(t, k.b, k.middle, k.Messages[k.middle:])
	setConfig(t, k.b, "second")
	second := take(t, k.b, s, 2)
	if len(second.Rounds) != 2 || second.Rounds[0] != first.Rounds[0] || second.Rounds[1].First != k.middle+1 {
		t.Errorf("the second backup has %+v, and the first %+v", second.Rounds, first.Rounds)
	}
	if third := take(t, k.b, s, 3); !reflect.DeepEqual(third.Rounds, second.Rounds) || third.State != second.State || third.Configs != second.Configs {
		t.Errorf("a backup of what has not changed has %+v, and the one before %+v", third, second)
	}
	for _, tt := range []struct {
		m      Manifest
		to     uint64
		config string
	}{{first, k.middle, "first"}, {second, end, "second"}} {
		b := connect(t)
		state := verify(t, s, tt.m)
		if wrote, err := (Restoration{b, s, tt.m, state, nil, 1}).Run(t.Context(), ignore); err != nil || !wrote {
			t.Fatal(wrote, err)
		}
		isAsItWas(t, b, k, tt.to, tt.config)
		if wrote, err := (Restoration{b, s, tt.m, state, nil, 1}).Run(t.Context(), ignore); err != nil || wrote {
			t.Errorf("restored again: %t, %v", wrote, err)
		}
		state.Chain[0]++
		if _, err := (Restoration{b, s, tt.m, state, nil, 1}).Run(t.Context(), ignore); !errors.Is(err, bus.ErrStands) {
			t.Errorf("another one: got error %v, want %v", err, bus.ErrStands)
		}
	}
}

// TestABackupGoesOnFromItsOwnHistory goes on from an older backup, so that the newest one is of a log that is gone.
func TestABackupGoesOnFromItsOwnHistory(t *testing.T) {
	k, s := start(t), folder(t)
	first := take(t, k.b, s, 1)
	writes(t, k.b, k.middle, k.Messages[k.middle:])
	gone := take(t, k.b, s, 2)
	b := connect(t)
	begins(t, b, k.ID, k.Messages[:k.middle])
	for _, m := range []Manifest{take(t, b, s, 3), take(t, b, s, 4)} {
		if !reflect.DeepEqual(m.Rounds, first.Rounds) {
			t.Errorf("it has %+v, want %+v", m.Rounds, first.Rounds)
		}
		verify(t, s, m)
	}
	verify(t, s, gone)
	other := connect(t)
	begins(t, other, "another", nil)
	if _, err := Take(t.Context(), source(other, 5), s); err == nil || !strings.Contains(err.Error(), "a place of its own") {
		t.Errorf("a backup of another cluster: got error %v", err)
	}
}

// TestARestoreThatWasInterruptedBeginsAgain stops at five places of the log.
func TestARestoreThatWasInterruptedBeginsAgain(t *testing.T) {
	k, s := start(t), folder(t)
	m := take(t, k.b, s, 1)
	state := verify(t, s, m)
	b := connect(t)
	for stop := uint64(1); stop < m.Sequence; stop += m.Sequence / 5 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Restoration{b, s, m, state, nil, 1}.Run(ctx, func(message events.Message) {
			if message.Sequence == stop {
				cancel()
			}
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at %d: got error %v", stop, err)
		}
		if _, err := b.State(t.Context(), bus.Log); !errors.Is(err, bus.ErrNoStream) || !errors.Is(err, bus.ErrRestoring) {
			t.Errorf("stopped at %d: the log is there: %v", stop, err)
		}
		if err := b.Init(t.Context(), 1); !errors.Is(err, bus.ErrRestoring) {
			t.Errorf("stopped at %d: streams are made: %v", stop, err)
		}
	}
	if _, err := (Restoration{b, s, m, state, nil, 1}).Run(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	isAsItWas(t, b, k, k.middle, "first")
}

// TestARestoreIsNotFinishedByAnother begins a second restore while the first one fills the log.
func TestARestoreIsNotFinishedByAnother(t *testing.T) {
	k, b := start(t), connect(t)
	first, err := b.BeginRestore(t.Context(), k.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	writes(t, b, 0, k.Messages[:k.middle])
	second, err := b.BeginRestore(t.Context(), k.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	for filling, last := range map[string]uint64{first: k.middle, second: k.middle} {
		if err := b.EndRestore(t.Context(), filling, last); !errors.Is(err, bus.ErrRestoring) {
			t.Errorf("it is finished with nothing in it: got error %v, want %v", err, bus.ErrRestoring)
		}
	}
	writes(t, b, 0, k.Messages[:k.middle])
	if err := b.EndRestore(t.Context(), second, k.middle); err != nil {
		t.Error(err)
	}
}

// TestWhatWasNotLostStays restores a log beside configs that changed after the backup.
func TestWhatWasNotLostStays(t *testing.T) {
	k, s := start(t), folder(t)
	m := take(t, k.b, s, 1)
	b := connect(t)
	setConfig(t, b, "changed")
	if _, err := (Restoration{b, s, m, verify(t, s, m), nil, 1}).Run(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	isAsItWas(t, b, k, k.middle, "changed")
}

// TestABackupEndsWithAClosedRound backs up logs that end with messages of another client, and with the void of these.
func TestABackupEndsWithAClosedRound(t *testing.T) {
	k, s := start(t), folder(t)
	foreign := events.Message{Subject: events.LogRoot + ".cluster.nothing", Header: events.Header{}, Body: []byte("{}"), Sequence: k.middle + 1}
	writes(t, k.b, k.middle, []events.Message{foreign})
	if m := take(t, k.b, s, 1); m.Sequence != k.middle {
		t.Errorf("the backup ends at %d, and the last round at %d", m.Sequence, k.middle)
	}
	state := k.State(k.middle)
	void, err := events.Record{Event: events.Event{Scope: events.RoundScope, Data: events.RoundVoid{
		From: k.middle + 1, To: k.middle + 1, Epoch: state.Epoch + 1, Leader: "another",
	}}, Sequence: k.middle + 2, Time: state.Now}.Message("")
	if err != nil {
		t.Fatal(err)
	}
	void.Sequence = k.middle + 2
	writes(t, k.b, k.middle+1, []events.Message{void})
	m := take(t, k.b, s, 2)
	if m.Sequence != k.middle {
		t.Errorf("the backup ends at %d, and the last round at %d", m.Sequence, k.middle)
	}
	b := connect(t)
	if _, err := (Restoration{b, s, m, verify(t, s, m), nil, 1}).Run(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	isAsItWas(t, b, k, k.middle, "first")
}

// TestADamagedBackupHindersNoOther damages the manifest of the newest of two backups, and a file of the first.
func TestADamagedBackupHindersNoOther(t *testing.T) {
	k, s := start(t), folder(t)
	first := take(t, k.b, s, 1)
	writes(t, k.b, k.middle, k.Messages[k.middle:])
	second := take(t, k.b, s, 2)
	if err := os.WriteFile(filepath.Join(string(s), second.Name()), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := List(t.Context(), s)
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	if _, err := At(all, 0, time.Time{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), second.Name()) {
		t.Errorf("the newest one: got error %v", err)
	}
	if m, err := At(all, k.middle, time.Time{}); err != nil || m.Name() != first.Name() {
		t.Errorf("the one before is %+v, %v", m, err)
	}
	if err := os.Remove(filepath.Join(string(s), first.Rounds[0].Name)); err != nil {
		t.Fatal(err)
	}
	verify(t, s, take(t, k.b, s, 3)) // all is taken again
}

// TestABackupRestsAsLongAsItWorks reads messages that take a simulated while each, then one that the bus is slow to bring.
func TestABackupRestsAsLongAsItWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := func(ctx context.Context, messages int, each time.Duration) (took time.Duration) {
			began := time.Now()
			for _, err := range paced(ctx, func(yield func(events.Message, error) bool) {
				for range messages {
					<-time.After(each)
					if !yield(events.Message{}, nil) {
						return
					}
				}
			}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(began)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		for _, tt := range []struct {
			name     string
			ctx      context.Context
			messages int
			each     time.Duration
			want     time.Duration
		}{
			{"as long as it works", t.Context(), 100, 3 * time.Millisecond, 600 * time.Millisecond},
			{"not for an hour", t.Context(), 1, time.Hour, time.Hour + restsFor},
			{"not once it is interrupted", ended, 100, 3 * time.Millisecond, 300 * time.Millisecond},
		} {
			if took := read(tt.ctx, tt.messages, tt.each); took != tt.want {
				t.Errorf("it rests %s: it took %s, want %s", tt.name, took, tt.want)
			}
		}
	})
}

// TestDamageIsRefusedWithTheFilesName changes, shortens or removes a file of a backup in every way that a disk may.
func TestDamageIsRefusedWithTheFilesName(t *testing.T) {
	times := 200
	if recorded.Racing {
		times = 40
	}
	k, s := start(t), folder(t)
	whole := take(t, k.b, s, 1)
	entries, err := os.ReadDir(string(s))
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	d := rand.New(rand.NewPCG(seed, 0))
	for n := range times {
		name := entries[n%len(entries)].Name()
		path := filepath.Join(string(s), name)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		how, damaged := damage(d, before)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := verifyNewest(t.Context(), s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s of %s, seed %d, draw %d: got error %v", how, name, seed, n, err)
		}
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for f := range whole.files {
		path := filepath.Join(string(s), f.Name)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := verifyNewest(t.Context(), s); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("without %s: got error %v", f.Name, err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
	}
	if err := verifyNewest(t.Context(), s); err != nil {
		t.Error(err)
	}
}

func verifyNewest(ctx context.Context, s Store) error {
	all, err := List(ctx, s)
	if err != nil {
		return err
	}
	m, err := At(all, 0, time.Time{})
	if err != nil {
		return err
	}
	_, err = Verify(ctx, s, m, nil)
	return err
}

func damage(d *rand.Rand, whole []byte) (how string, damaged []byte) {
	if d.IntN(2) == 0 {
		at := d.IntN(len(whole))
		return fmt.Sprintf("the first %d bytes", at), whole[:at]
	}
	at, bit := d.IntN(len(whole)), d.IntN(8)
	damaged = slices.Clone(whole)
	damaged[at] ^= 1 << bit
	return fmt.Sprintf("bit %d of byte %d", bit, at), damaged
}

// TestOnlyTheNewestAreKept takes four backups, and keeps two.
func TestOnlyTheNewestAreKept(t *testing.T) {
	k, s := start(t), folder(t)
	var all []Manifest
	for second := range 4 {
		setConfig(t, k.b, fmt.Sprint(second))
		all = append(all, take(t, k.b, s, second))
	}
	part := filepath.Join(string(s), partPrefix+"1")
	others := []string{filepath.Join(string(s), "notes.txt"), filepath.Join(string(s), "configs-2026.tar.zst"), filepath.Join(string(s), "backup-1.json")}
	for _, path := range append(others, part) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		later time.Duration
		files int
	}{{0, 4}, {2 * orphanedAfter, 2}} {
		if err := Prune(t.Context(), s, 2, time.Now().Add(tt.later)); err != nil {
			t.Fatal(err)
		}
		left, err := List(t.Context(), s)
		if err != nil || len(left) != 2 || left[0].Name() != all[3].Name() || left[1].Name() != all[2].Name() {
			t.Errorf("left is %v, %v", left, err)
		}
		if configs, err := filepath.Glob(filepath.Join(string(s), "configs-*.jsonl.zst")); err != nil || len(configs) != tt.files {
			t.Errorf("after %s there are %v, want %d: %v", tt.later, configs, tt.files, err)
		}
	}
	for _, m := range all[2:] {
		verify(t, s, m)
	}
	if _, err := os.Stat(part); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was begun is left: %v", err)
	}
	for _, other := range others {
		if _, err := os.Stat(other); err != nil {
			t.Errorf("a file of another program is gone: %v", err)
		}
	}
}
