package rookerytest_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
)

// TestThePastIsAnsweredOnABus asks a real server's coordinator for the state at the end of rounds, for what changed between them, and for
// who asked what.
func TestThePastIsAnsweredOnABus(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","ports":[{"name":"http","port":80}]}`)
	for i := 1; i <= 11; i++ {
		cluster.Command("demo/web", "scale", fmt.Sprintf(`{"scale":%d}`, i%2*4))
	}
	snapshots := cluster.Bus().Objects(bus.ObjectsFolds)
	cluster.Until("there is a snapshot", func() bool {
		all, err := snapshots.All(t.Context())
		return err == nil && len(all) > 0
	})
	var rounds []uint64
	cluster.Replay(func(records []events.Record) {
		if n := len(records); n > 0 {
			rounds = append(rounds, records[n-1].Sequence)
		}
	})
	middle := rounds[len(rounds)/2]
	var inside, past api.PastState
	askUntil(t, cluster, "state", fmt.Sprintf(`{"at_seq":%d}`, middle), &past)
	askUntil(t, cluster, "state", fmt.Sprintf(`{"at_seq":%d}`, rounds[len(rounds)/2+1]-1), &inside)
	if past.Sequence != middle || inside.Sequence != middle || past.Hash != inside.Hash {
		t.Errorf("at %d the answer is of %d, and inside the next round of %d", middle, past.Sequence, inside.Sequence)
	}
	if len(past.Views[bus.BucketServices]) != 1 || len(past.Views[bus.BucketNodes]) != 3 {
		t.Errorf("the views show %v", past.Views)
	}
	var at api.PastState
	askUntil(t, cluster, "state", fmt.Sprintf(`{"at_time":%q,"node":"node-0"}`, past.Now.Format(time.RFC3339Nano)), &at)
	if at.Sequence < middle || !at.Now.Equal(past.Now) || len(at.Views) != 1 {
		t.Errorf("at %s the answer is of %d, of %s, and shows %v", past.Now, at.Sequence, at.Now, at.Views)
	}
	var d api.Diff
	askUntil(t, cluster, "diff", fmt.Sprintf(`{"from":%d,"service":"demo/web"}`, middle), &d)
	if d.From.Hash != past.Hash || !strings.Contains(fmt.Sprint(d.Changes), "generation") {
		t.Errorf("from %d on has changed %+v", middle, d)
	}
	var h api.History
	askUntil(t, cluster, "history", `{"service":"demo/web","limit":10}`, &h)
	if len(h.Commands) != 10 || h.Earlier != 2 || h.Commands[9].Verb != "scale" || h.Commands[9].Outcome != projections.Succeeded {
		t.Errorf("the history is %+v", h)
	}
}

func askUntil(t *testing.T, cluster *rookerytest.Cluster, question, body string, answer any) {
	t.Helper()
	cluster.Until(question+" is answered", func() bool { return cluster.Ask(question, body, answer) })
}

// TestQuestionsAboutThePastSayWhatIsWrongWithThem asks for what there is not.
func TestQuestionsAboutThePastSayWhatIsWrongWithThem(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1"}`)
	cluster.Until("all nodes have joined", func() bool { return cluster.State().Nodes == len(cluster.Nodes) })
	now := time.Now().UTC().Format(time.RFC3339Nano)
	for _, row := range []struct{ question, body, code, reason string }{
		{"state", `{"at_time":"` + now + `","service":"demo/weeb"}`, "404", "there is no service demo/weeb: did you mean demo/web?"},
		{"state", `{"at_time":"` + now + `","node":"nod-1"}`, "404", "there is no node nod-1: did you mean node-1?"},
		{"diff", `{"from":"` + now + `","service":"demo/weeb"}`, "404", "there is no service demo/weeb: did you mean demo/web?"},
		{"explain", `{"service":"demo/weeb"}`, "404", "there is no service demo/weeb: did you mean demo/web?"},
		{"state", `{"at_seq":1000000}`, "404", "the log ends at sequence"},
		{"state", `{"at_seq":1}`, "404", "no round is closed at or below sequence 1"},
		{"state", `{"at_time":"2001-01-01T00:00:00Z"}`, "404", "the log begins at"},
		{"state", `{"at":7}`, "400", `{"at_seq":100}`},
		{"state", `{"at_seq":7,"at_time":"2026-01-01T00:00:00Z"}`, "400", `{"at_seq":100}`},
		{"state", `{"service":"demo/web"}`, "400", `{"at_seq":100}`},
		{"diff", `{}`, "400", `{"from":100,"to":200}`},
		{"diff", `{"from":0}`, "400", "count from 1"},
		{"diff", `{"from":"yesterday"}`, "400", "2026-11-01T12:00:00Z"},
		{"diff", `{"from":true}`, "400", "neither a sequence nor a time"},
		{"diff", `{"from":9,"to":3}`, "400", "swap them"},
		{"history", `{}`, "400", "namespace/name"},
		{"explain", `{"service":"demo"}`, "400", "namespace/name"},
		{"explain", `{"slot":1}`, "400", `{"service":"demo/web"}`},
		{"explain", `{"service":"demo/web","ordinal":7}`, "404", "the log has no decision on a node for demo/web that fits"},
		{"state", `{"at_seq":7,"live":true}`, "400", `{"live":true}`},
		{"plan", `{"verb":""}`, "400", `{"node":"n1","verb":"drain","body":{}}`},
		{"plan", `{"node":"n1","group":"demo/stack","verb":"drain"}`, "400", `"group":"demo/stack"`},
		{"plan", `{"namespace":"demo","verb":"ensure"}`, "400", `"namespace":"demo","name":"web"`},
		{"history", `{"service":"demo/web","limit":5000}`, "400", `"limit" from 1 to 1000`},
	} {
		m, err := cluster.Conn.Request(events.APIRoot+"."+row.question, []byte(row.body), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		code, reason := m.Header.Get("Nats-Service-Error-Code"), m.Header.Get("Nats-Service-Error")
		if code != row.code || !strings.Contains(reason, row.reason) {
			t.Errorf("%s %s: %s %q, want %s %q", row.question, row.body, code, reason, row.code, row.reason)
		}
	}
}

// said gathers what a coordinator logs.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.text.String(), text)
}

// TestAStandbyBeginsWithASnapshotAndIsAsTheLeader starts a second coordinator once there are snapshots, the last of them spoiled.
func TestAStandbyBeginsWithASnapshotAndIsAsTheLeader(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	snapshots := cluster.Bus().Objects(bus.ObjectsFolds)
	var all []bus.Object
	cluster.Ensure("demo/web", `{"image":"localhost/web:1"}`)
	for i := 1; len(all) < 2; i++ {
		cluster.Command("demo/web", "scale", fmt.Sprintf(`{"scale":%d}`, i%2*4))
		var err error
		if all, err = snapshots.All(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	last := all[0].Name
	for _, o := range all {
		last = max(last, o.Name)
	}
	if err := snapshots.Put(t.Context(), last, strings.NewReader("spoiled")); err != nil {
		t.Fatal(err)
	}
	var log said
	conn, err := nats.Connect(cluster.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	own, err := bus.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- runner.New(runner.Config{
			Bus: own, Name: "second", Program: events.Program{Levels: events.OwnLevels}, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), SnapshotEvery: 1000,
		}).Run(ctx)
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	cluster.Until("the second begins with a snapshot that is whole", func() bool {
		return log.has("skipping a snapshot") && log.has("from a snapshot")
	})
	cluster.Until("the second answers, with the hash of the first", func() bool {
		hashes := map[string]map[string]bool{}
		answered := map[string]bool{}
		for range 20 {
			s := cluster.State()
			key := fmt.Sprint(s.Sequence)
			if hashes[key] == nil {
				hashes[key] = map[string]bool{}
			}
			hashes[key][s.Hash], answered[s.Answered] = true, true
			if len(hashes[key]) > 1 {
				t.Fatalf("at %d there are two states", s.Sequence)
			}
		}
		return len(answered) == 2
	})
}

// TestPeopleSeeThePast runs the commands that an operator types to read the past.
func TestPeopleSeeThePast(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":2}`)
	before := cluster.State().Sequence
	cluster.Command("demo/web", "scale", `{"scale":3}`)
	at := fmt.Sprint(before)
	var scaled string
	cluster.Replay(func(records []events.Record) {
		for _, r := range records {
			if _, is := r.Data.(events.ServiceScaled); is {
				scaled = r.Time.Format(time.RFC3339Nano)
			}
		}
	})
	for _, row := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"state", "--seq", at}, 0, []string{"State at sequence " + at + " of the log", "demo/web  running  1         2 of 2  localhost/web:1", "node-2"}},
		{[]string{"state"}, 0, []string{"3 of 3"}},
		{[]string{"state", "--at", "0s", "--node", "node-1", "-o", "json"}, 0, []string{`"rookery_nodes":{"node-1":`}},
		{[]string{"state", "--seq", "1000000"}, 1, []string{"rookery: the log ends at sequence"}},
		{[]string{"state", "--at", "2999-01-01T00:00Z"}, 1, []string{"2999-01-01T00:00:00Z has not come yet: it is"}},
		{[]string{"state", "--at", "noon"}, 2, []string{`"noon"`, "4711"}},
		{[]string{"diff", "--from", at}, 0, []string{"service demo/web  scale: 2 → 3", "slot demo/web/2  is new: status \"online\""}},
		{[]string{"diff"}, 2, []string{"give --from"}},
		{[]string{"history", "demo/web"}, 0, []string{"ensure  -", "scale   -", "succeeded after"}},
		{[]string{"history", "demo/web", "--limit", "1"}, 0, []string{"1 earlier commands: see --before"}},
		{[]string{"history", "demo/web", "--sort", "asked", "-o", "jsonpath=$[*].verb"}, 0, []string{"ensure\nscale\n"}},
		{[]string{"history", "demo/web", "--sort", "age"}, 2, []string{"want one of sequence, when, command, asked, by, outcome"}},
		{[]string{"replay", "demo/web", "--from", at, "--speed", "1000"}, 0, []string{"demo/web  service.scaled to 3", "demo/web  instance.placed 2.1"}},
		{[]string{"replay", "demo/web", "--from", scaled}, 0, []string{"demo/web  service.scaled to 3"}},
		{[]string{"replay", "demo/web", "--from", "2001-01-01T00:00Z"}, 0, []string{"demo/web  service.scaled to 3"}},
		{[]string{"capsule", "--from", "1h", "--out", "-"}, 0, []string{`"recorded"`}},
		{[]string{"capsule", "--from", "noon", "--out", "-"}, 2, []string{`--from "noon"`}},
		{[]string{"what-if", "--capacity", "node-0.cpu=8", "--from", "1h"}, 0, []string{"instances placed"}},
		{[]string{"replay", "--step"}, 0, nil}, // nothing is typed
		{[]string{"replay", "--speed", "-1"}, 2, []string{"is negative"}},
	} {
		out, code := rookery(t, append(row.args, "--server", cluster.URL)...)
		if code != row.code {
			t.Errorf("%v: exit %d, want %d: %s", row.args, code, row.code, out)
		}
		for _, want := range row.want {
			if !strings.Contains(out, want) {
				t.Errorf("%v does not say %q:\n%s", row.args, want, out)
			}
		}
	}
}
