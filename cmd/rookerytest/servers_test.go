package rookerytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// publishWithin is how long one try to store a command may take.
const publishWithin = 2 * time.Second

// TestWithoutAQuorumNothingIsMade kills two of three servers. Once the third knows it, each command says that there is
// no quorum. None advises to make or adopt streams, then or before. The buckets that are made later have as many replicas as the log.
func TestWithoutAQuorumNothingIsMade(t *testing.T) {
	t.Parallel()
	q := newQuorum(newField(t))
	q.servers[1].process.kill()
	q.servers[2].process.kill()
	commands := [][]string{
		{"ensure", "demo/web", "--image", "localhost/web:1"}, {"ps"}, {"history", "demo/web"}, {"inspect", "demo/web"}, {"bus", "check"}, {"doctor"},
	}
	ask := func(want string) {
		t.Helper()
		for _, args := range commands {
			began := time.Now()
			out, code := rookery(t, append(args, "--server", q.url)...)
			t.Logf("%q, after %.1f s: %s", args, time.Since(began).Seconds(), out)
			if code == 0 || strings.Contains(out, "bus init") || strings.Contains(out, "bus adopt") || !strings.Contains(out, want) {
				t.Errorf("%q: exit %d: %s; want %q", args, code, out, want)
			}
		}
	}
	ask("") // the servers do not know it yet
	if !q.within(settlesWithin, func() bool {
		check, _ := rookery(t, "bus", "check", "--server", q.url)
		history, _ := rookery(t, "history", "demo/web", "--server", q.url) // it looks at another stream
		return strings.Contains(check, bus.ErrNoQuorum.Error()) && strings.Contains(history, bus.ErrNoQuorum.Error())
	}) {
		t.Fatal("the servers are not known to have no quorum")
	}
	ask(bus.ErrNoQuorum.Error())
	q.startServer(q.servers[1])
	q.startServer(q.servers[2])
	var made int
	if !q.within(settlesWithin, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), publishWithin)
		defer cancel()
		var err error
		made, err = bucketReplicas(ctx, q.url)
		return err == nil
	}) || made != serverCount {
		t.Fatalf("the bucket has %d replicas", made)
	}
}

// TestWhatNoServerLeadsIsMadeAgain kills two of the three servers that keep a stream in memory. The other three of five agree on a leader of all
// streams, and the third copy waits for one of its own. It is made again with another identity, takes messages, and is not
// made again while it has a leader.
func TestWhatNoServerLeadsIsMadeAgain(t *testing.T) {
	t.Parallel()
	const servers = 5
	q := newServers(newField(t), servers)
	name := string(bus.Metrics)
	var kept struct {
		Cluster struct {
			Leader   string                  `json:"leader"`
			Replicas []struct{ Name string } `json:"replicas"`
		} `json:"cluster"`
	}
	create := fmt.Appendf(nil, `{"name":%q,"subjects":["rookery.metric.>"],"storage":"memory","num_replicas":3,"max_msgs_per_subject":1,"metadata":{"rookery.id":"before"}}`, name)
	ask := func(verb string, body []byte) bool {
		conn, err := nats.Connect(q.url)
		if err != nil {
			return false
		}
		defer conn.Close()
		answer, err := conn.Request("$JS.API.STREAM."+verb+"."+name, body, publishWithin)
		return err == nil && json.Unmarshal(answer.Data, &kept) == nil && kept.Cluster.Leader != "" && len(kept.Cluster.Replicas) == 2
	}
	if !q.within(settlesWithin, func() bool { return ask("CREATE", create) || ask("INFO", nil) }) {
		t.Fatal("the stream is not made")
	}
	b := connect(t, "client", q.url)
	if err := b.Replace(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Publish(t.Context(), events.Message{Subject: "rookery.metric.before"}); err != nil {
		t.Fatal(err)
	}
	for _, s := range q.servers {
		if s.name == kept.Cluster.Leader || s.name == kept.Cluster.Replicas[0].Name {
			s.process.kill()
		}
	}
	var found []string
	const lookWithin = 5 * publishWithin // a question to a server that was killed is not answered
	if !q.within(settlesWithin, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), lookWithin)
		defer cancel()
		found, _ = b.Leaderless(ctx)
		return len(found) > 0
	}) || !slices.Equal(found, []string{name}) {
		t.Fatalf("without a leader are %q, want %q", found, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), settlesWithin)
	defer cancel()
	if err := b.Replace(ctx, name); err != nil {
		t.Fatal(err)
	}
	if at, err := b.Publish(ctx, events.Message{Subject: "rookery.metric.after"}); err != nil || at != 1 {
		t.Errorf("after it was made again a message is at %d, %v, want the first one", at, err)
	}
	if s, err := b.State(ctx, bus.Metrics); err != nil || s.Identity == "" || s.Identity == "before" {
		t.Errorf("what was made again has the identity %q, %v", s.Identity, err)
	}
	if found, err := b.Leaderless(ctx); err != nil || len(found) > 0 {
		t.Errorf("without a leader are still %q, %v", found, err)
	}
}

// bucketReplicas makes a bucket, and returns how many servers keep it.
func bucketReplicas(ctx context.Context, url string) (int, error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	b, err := bus.New(conn)
	if err != nil {
		return 0, err
	}
	if _, err := b.Bucket(ctx, bus.BucketNodes); err != nil {
		return 0, err
	}
	answer, err := conn.RequestWithContext(ctx, "$JS.API.STREAM.INFO.KV_"+bus.BucketNodes, nil)
	if err != nil {
		return 0, err
	}
	var made struct {
		Config struct {
			Replicas int `json:"num_replicas"`
		} `json:"config"`
	}
	err = json.Unmarshal(answer.Data, &made)
	return made.Config.Replicas, err
}
