package rookerytest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
		out, _ := rookery(t, "bus", "check", "--server", q.url)
		return strings.Contains(out, bus.ErrNoQuorum.Error())
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
