package rookerytest_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner/backup"
	"github.com/rookery-project/rookery/coordinator/runner/snapshots"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/events/golden"
	"github.com/rookery-project/rookery/projections"
)

// brittle is a cluster whose bus loses everything.
type brittle struct {
	*rookerytest.Cluster
	t   *testing.T
	bus *service
}

func startBrittle(t *testing.T, options ...rookerytest.Option) *brittle {
	t.Helper()
	b := &brittle{t: t, bus: &service{folder: t.TempDir(), host: "127.0.0.1", port: freePorts(t)}}
	var url string
	b.bus.process, url = startServerAt(t, b.bus.folder, b.bus.host, b.bus.port)
	b.Cluster = rookerytest.Start(t, append([]rookerytest.Option{rookerytest.WithServer(url), rookerytest.WithoutCoordinator()}, options...)...)
	return b
}

// loseAll kills the server, and starts it again without anything that it has stored.
func (b *brittle) loseAll() {
	b.t.Helper()
	b.bus.kill()
	if err := os.RemoveAll(b.bus.folder); err != nil {
		b.t.Fatal(err)
	}
	b.bus.process, _ = startServerAt(b.t, b.bus.folder, b.bus.host, b.bus.port)
}

// asks runs a command that prints JSON.
func (b *brittle) asks(into any, args ...string) {
	b.t.Helper()
	out, code := rookery(b.t, append(args, "--server", b.URL, "--output", "json")...)
	if code != 0 {
		b.t.Fatalf("rookery %s ends with %d and says:\n%s", strings.Join(args, " "), code, out)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
}

type (
	takenBackup struct {
		Name     string `json:"name"`
		Hash     string `json:"hash"`
		Sequence uint64 `json:"sequence"`
		Volumes  int    `json:"volumes"`
	}
	restoredBackup struct {
		takenBackup
		Lost    backup.Lost `json:"lost"`
		Adopted string      `json:"adopted"`
	}
)

// TestABusThatLostEverythingIsRestored backs up twice, lets more happen, and loses all that the bus has stored. The last backup is
// restored. Later commands are listed as lost. Containers are adopted or listed, and none is restarted.
func TestABusThatLostEverythingIsRestored(t *testing.T) {
	t.Parallel()
	c := startBrittle(t, rookerytest.WithLog(t.Output()))
	startCoordinator(t, c.Cluster)
	folder := filepath.Join(t.TempDir(), "backups")
	putConfig(t, c.Bus(), "demo.web-conf", "kept")
	c.Ensure("demo/web", `{"image":"i","scale":3,"volumes":[{"name":"data","path":"/data","state":true}]}`)
	var first, second, third takenBackup
	c.asks(&first, "bus", "backup", folder)
	c.Command("demo/web", "snapshot", `{}`)
	c.Ensure("demo/db", `{"image":"i","scale":2}`)
	c.asks(&second, "bus", "backup", folder)
	decided := c.Publish("demo/db", "scale", `{"scale":3}`)
	c.Outcome(decided)
	c.asks(&third, "bus", "backup", folder)
	if first.Sequence >= second.Sequence || second.Sequence >= third.Sequence || first.Volumes != 0 || third.Volumes == 0 {
		t.Errorf("the backups are %+v, %+v and %+v", first, second, third)
	}
	c.Command("demo/web", "scale", `{"scale":5}`)
	c.Ensure("demo/late", `{"image":"i","scale":1}`)
	lost := c.Publish("demo/late", "scale", `{"scale":2}`)
	c.Outcome(lost)
	before := handles(c.Cluster)

	c.loseAll()
	var restored restoredBackup
	c.asks(&restored, "bus", "restore", folder)
	if want := (backup.Lost{Events: backup.Range{From: third.Sequence + 1}, Commands: backup.Range{From: decided + 1}}); restored.Lost != want {
		t.Errorf("lost is %+v, want %+v: the last command had sequence %d", restored.Lost, want, lost)
	}
	if restored.takenBackup != third {
		t.Errorf("restored is %+v, want %+v", restored.takenBackup, third)
	}
	c.Command("demo/db", "scale", `{"scale":4}`)
	c.Until("what was restored is settled", func() bool { return c.State().Open == 0 })
	listed, after := c.listed(), handles(c.Cluster)
	for id, handle := range before {
		if after[id] != handle && !listed[fmt.Sprintf("%s/%d", id.Service, id.Ordinal)] {
			t.Errorf("%s was %s, is %q, and no event says so", id, handle, after[id])
		}
	}
	for id, handle := range after {
		if before[id] != "" && before[id] != handle {
			t.Errorf("%s was %s, and is %s: it was restarted", id, before[id], handle)
		}
	}
	configs, err := c.Bus().Bucket(t.Context(), bus.BucketConfigs)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := configs.Get(t.Context(), "demo.web-conf")
	if err != nil || string(entry.Value) != "kept" {
		t.Errorf("the config is %q, %v", entry.Value, err)
	}
	checkActual(t, c.Cluster, readHistory(t, c.Cluster).cluster)
	c.CheckReplay()
}

var backupEvents = flag.Int("backup-events", 3_000, "how many `events` the log of TestARestoredFleetRunsOnOnPodman has at least")

// TestARestoredFleetRunsOnOnPodman backs a cluster up while 20 commands a second go on, and loses its bus. It restores the bus, and waits until
// every host has listed what it has. No container is restarted. Those that came after the backup are adopted or listed.
func TestARestoredFleetRunsOnOnPodman(t *testing.T) {
	t.Parallel()
	r := startRegion(t, "attic-1", "barn-1")
	b := &brittle{Cluster: r.Cluster, t: t, bus: r.bus}
	web := func(scale int) string { return served(scale, `"zones":["attic","barn"]`) }
	r.Ensure("demo/web", web(4))
	b.churns(*backupEvents)
	alone := 5*time.Second + time.Duration(*backupEvents)*time.Second/50_000 // about as many commands as while a backup is taken
	before := b.latency(func(done chan struct{}) { time.AfterFunc(alone, func() { close(done) }) })
	folder := filepath.Join(t.TempDir(), "backups")
	var taken takenBackup
	began := time.Now()
	during := b.latency(func(done chan struct{}) {
		defer close(done)
		b.asks(&taken, "bus", "backup", folder)
	})
	fmt.Printf("backup of %d messages took %.1f s; a command took %s before and %s meanwhile (99 of 100)\n",
		taken.Sequence, time.Since(began).Seconds(), before, during)
	r.Command("demo/web", "scale", `{"scale":5}`)
	r.Ensure("demo/late", web(1))
	ran := r.running()

	b.loseAll()
	var restored restoredBackup
	began = time.Now()
	b.asks(&restored, "bus", "restore", folder)
	took := time.Since(began)
	began = time.Now()
	r.Until("every host has listed what it has", b.places)
	adopted := time.Since(began)
	restarted := b.restarted(r, ran)
	fmt.Printf("restored %d messages in %.1f s, adopted after %.1f s, restarted %d\n", taken.Sequence, took.Seconds(), adopted.Seconds(), restarted)
	r.Command("demo/web", "scale", `{"scale":6}`)
	want := backup.Lost{Events: backup.Range{From: taken.Sequence + 1}, Commands: backup.Range{From: b.stateAt(taken.Sequence).CommandCursor + 1}}
	if restored.Lost != want {
		t.Errorf("lost is %+v, want %+v", restored.Lost, want)
	}
	r.CheckReplay()
}

// restarted counts containers that are others than before, and fails the test if one is gone that no event lists.
func (b *brittle) restarted(r *region, before map[string]shown) (count int) {
	b.t.Helper()
	listed, after := b.listed(), r.running()
	for slot, was := range before {
		switch is, runs := after[slot]; {
		case listed[slot]:
		case !runs:
			b.t.Errorf("%s is gone, and no event says so", slot)
		case is.ID != was.ID || is.PID != was.PID:
			count++
			b.t.Errorf("%s was restarted: it was %+v, and is %+v", slot, was, is)
		}
	}
	return count
}

// churns lets simulated nodes start and stop instances until the log has so many events.
func (b *brittle) churns(events int) {
	b.t.Helper()
	const nodes, scale = 10, 500
	for i := range nodes {
		startSimulated(b.t, connect(b.t, "node", b.URL), i, regionHeartbeat)
	}
	const spec = `{"image":"localhost/web:1","scale":0,"node_selector":{"engine":"simulated"},"resources":{"cpu":"10m","memory":"16MiB"}}`
	b.Ensure("sim/churn", spec)
	for n := scale; ; n = scale - n {
		b.Command("sim/churn", "scale", fmt.Sprintf(`{"scale":%d}`, n))
		if state, err := b.Bus().State(b.t.Context(), bus.Log); err != nil || state.Last >= uint64(events) {
			return
		}
	}
}

// latency sends 20 commands a second until done is closed by what it starts, and returns how long one takes until it is decided: 99 of 100 take no
// longer.
func (b *brittle) latency(start func(done chan struct{})) time.Duration {
	b.t.Helper()
	decided, err := b.Conn.SubscribeSync(events.EventRoot + ".command.*.accepted")
	if err != nil {
		b.t.Fatal(err)
	}
	defer decided.Unsubscribe() //nolint:errcheck // the connection ends with the test
	b.Ensure("sim/tiny", `{"image":"localhost/web:1","scale":0,"node_selector":{"engine":"simulated"}}`)
	done := make(chan struct{})
	go start(done)
	tick := time.NewTicker(time.Second / 20)
	defer tick.Stop()
	var all []time.Duration
	for {
		select {
		case <-done:
			slices.Sort(all)
			return all[len(all)*99/100].Round(time.Millisecond / 10)
		case <-tick.C:
		}
		began := time.Now()
		subject := fmt.Sprintf("%s.command.%d.accepted", events.EventRoot, b.Publish("sim/tiny", "scale", `{"scale":0,"busy":"supersede"}`))
		for {
			m, err := decided.NextMsg(time.Minute)
			if err != nil {
				b.t.Fatal(err)
			}
			if m.Subject == subject {
				break
			}
		}
		all = append(all, time.Since(began))
	}
}

// places reports whether a coordinator answers what a command would do. After an adoption it does so once every host has listed what it has.
func (b *brittle) places() bool {
	const question = `{"namespace":"demo","name":"web","verb":"scale","body":{"scale":6}}`
	ctx, cancel := context.WithTimeout(b.t.Context(), bus.CallTimeout)
	defer cancel()
	answer, err := b.Bus().RequestWhole(ctx, events.Message{Subject: events.APIRoot + ".plan", Header: events.Header{}, Body: []byte(question)})
	return err == nil && answer.Header.Get(bus.HeaderErrorCode) == ""
}

// stateAt returns the state at the end of a round.
func (b *brittle) stateAt(sequence uint64) *projections.Cluster {
	b.t.Helper()
	reader, err := b.Bus().Read(b.t.Context(), bus.Log, 1)
	if err != nil {
		b.t.Fatal(err)
	}
	defer reader.Stop()
	fold := projections.NewFold()
	if err := snapshots.To(b.t.Context(), fold, reader, sequence); err != nil {
		b.t.Fatal(err)
	}
	return fold.Cluster
}

// listed returns the slots of all containers that the log does not know, and that events list.
func (b *brittle) listed() map[string]bool {
	b.t.Helper()
	found := map[string]bool{}
	b.Replay(func(records []events.Record) {
		for _, r := range records {
			if d, ok := r.Data.(events.StrayFound); ok {
				found[fmt.Sprintf("%s/%s/%d", d.Namespace, d.Name, d.Ordinal)] = true
			}
		}
	})
	return found
}

var interruptions = flag.Int("interruptions", 10, "how `often` TestBackupAndRestoreMayBeKilledAnywhere kills each of backup and restore")

// TestBackupAndRestoreMayBeKilledAnywhere kills `rookery bus backup` and `rookery bus restore` at random moments. A backup is then whole or
// missing, and so is a log. The same command again does the rest.
func TestBackupAndRestoreMayBeKilledAnywhere(t *testing.T) {
	t.Parallel()
	messages, err := golden.Read("v1-rescales.json")
	if err != nil {
		t.Fatal(err)
	}
	c := startBrittle(t, rookerytest.WithNodes(0))
	k := &killing{brittle: c, d: seed(t), messages: messages}
	k.fill()
	var whole takenBackup
	began := time.Now()
	c.asks(&whole, "bus", "backup", filepath.Join(t.TempDir(), "whole"))
	k.lasts = time.Since(began)
	kept := filepath.Join(t.TempDir(), "kept")
	for range *interruptions {
		folder := filepath.Join(t.TempDir(), "backups")
		k.killed("bus", "backup", folder)
		if all, err := backup.List(t.Context(), backup.Folder(folder)); err == nil && len(all) > 0 {
			if _, err := backup.Verify(t.Context(), backup.Folder(folder), all[0].Manifest, nil); err != nil {
				t.Errorf("a backup that was killed: %v", err)
			}
		}
		var again takenBackup
		c.asks(&again, "bus", "backup", folder)
		if again.Hash != whole.Hash || again.Sequence != whole.Sequence {
			t.Errorf("the backup after the one that was killed is %+v, want %+v", again, whole)
		}
		kept = folder
	}
	k.forget()
	began = time.Now()
	c.asks(&restoredBackup{}, "bus", "restore", kept)
	k.lasts = time.Since(began)
	for range *interruptions {
		k.forget()
		k.killed("bus", "restore", kept)
		var restored restoredBackup
		c.asks(&restored, "bus", "restore", kept)
		if hash := k.stateAt(whole.Sequence).Hash(); hash != whole.Hash {
			t.Errorf("the state that was restored is %s, want %s", hash, whole.Hash)
		}
		if restored.Lost.Events.From != whole.Sequence+1 && !strings.Contains(restored.Adopted, "nothing was restored") {
			t.Errorf("lost is %+v, and the backup ended at %d", restored.Lost, whole.Sequence)
		}
	}
}

// killing kills commands on a bus with a recorded log.
type killing struct {
	*brittle
	d        *rand.Rand
	messages []events.Message
	lasts    time.Duration // how long a command takes that is not killed
}

// fill makes the log.
func (k *killing) fill() {
	k.t.Helper()
	fold := projections.NewFold()
	for _, m := range k.messages {
		if _, err := fold.Take(m); err != nil {
			k.t.Fatal(err)
		}
	}
	k.forget()
	ctx := k.t.Context()
	var filling string
	// Behind its answer to the last removal, the server removes the folder of all streams, perhaps while it makes the next one in it.
	k.Until("the server has a folder for streams", func() (begun bool) {
		var err error
		filling, err = k.Bus().BeginRestore(ctx, fold.Cluster.LogID(), 1)
		if err != nil && !errors.Is(err, bus.ErrUnknown) {
			k.t.Fatal(err)
		}
		return err == nil
	})
	for batch := range slices.Chunk(k.messages, bus.MaxBatch) {
		for i := range batch {
			batch[i].Header = maps.Clone(batch[i].Header)
		}
		if _, err := k.Bus().Append(ctx, bus.Log, batch[0].Sequence-1, batch); err != nil {
			k.t.Fatal(err)
		}
	}
	if err := k.Bus().EndRestore(ctx, filling, fold.Last()); err != nil {
		k.t.Fatal(err)
	}
}

// forget deletes all that the bus has stored.
func (k *killing) forget() {
	k.t.Helper()
	for _, name := range strings.Fields(runNATS(k.t, k.Cluster, "stream", "ls", "--names", "--all")) {
		runNATS(k.t, k.Cluster, "stream", "rm", "--force", name)
	}
}

// killed runs a command and kills it at some moment.
func (k *killing) killed(args ...string) {
	k.t.Helper()
	p := startProcessIn(k.t, append(os.Environ(), "TMPDIR="+k.t.TempDir()), append(args, "--server", k.URL)...)
	select {
	case <-p.ended:
	case <-time.After(time.Duration(k.d.Int64N(int64(k.lasts)))):
		p.kill()
	}
}
