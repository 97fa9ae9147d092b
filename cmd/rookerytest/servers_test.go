package rookerytest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/events/bus"
)

// servers are three NATS servers that keep every stream together.
type servers struct {
	t         testing.TB
	configs   []string
	processes []*process
	url       string
}

func startServers(t testing.TB) *servers {
	t.Helper()
	const count = 3
	first := freePorts(t)
	s := &servers{t: t}
	var urls, routes []string
	for i := range count {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", first+i))
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", first+count+i))
	}
	s.url = strings.Join(urls, ",")
	for i := range count {
		config := filepath.Join(t.TempDir(), "nats.conf")
		text := fmt.Sprintf(`server_name: s%d
listen: "127.0.0.1:%d"
jetstream {store_dir: %q, sync_interval: always}
cluster {name: rookery, listen: "127.0.0.1:%d", routes: [%s]}
`, i, first+i, t.TempDir(), first+count+i, strings.Join(routes, ", "))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.configs = append(s.configs, config)
		s.processes = append(s.processes, nil)
		s.start(i)
	}
	return s
}

func (s *servers) start(i int) {
	s.t.Helper()
	path, err := natsServer()
	if err != nil {
		s.t.Fatal(err)
	}
	s.processes[i] = newProcess(s.t, exec.Command(path, "--config", s.configs[i])) //nolint:noctx // ended by the test
	s.processes[i].start()
}

// init makes the streams on all servers, as soon as these have found each other.
func (s *servers) init() {
	s.t.Helper()
	late := time.After(settlesWithin)
	for {
		out, code := rookery(s.t, "bus", "init", "--replicas", "3", "--server", s.url)
		if code == 0 {
			return
		}
		select {
		case <-late:
			s.t.Fatalf("bus init: exit %d: %s", code, out)
		default:
		}
	}
}

// publishWithin is how long one try to store a command may take.
const publishWithin = 2 * time.Second

// TestWithoutAQuorumNothingIsMade kills two of three servers. No command advises to make or adopt streams then, each says what is
// wrong or where to look, and the buckets that are made later have as many replicas as the log.
func TestWithoutAQuorumNothingIsMade(t *testing.T) {
	t.Parallel()
	s := startServers(t)
	s.init()
	s.processes[1].kill()
	s.processes[2].kill()
	late := time.Now().Add(patience)
	for out := ""; !strings.Contains(out, bus.ErrNoQuorum.Error()); out, _ = rookery(t, "bus", "check", "--server", s.url) {
		if time.Now().After(late) {
			t.Fatalf("the servers are not known to have no quorum: %s", out)
		}
	}
	for _, args := range [][]string{
		{"ps"}, {"bus", "check"}, {"doctor"}, {"inspect", "demo/web"}, {"ensure", "demo/web", "--image", "localhost/web:1"},
	} {
		out, code := rookery(t, append(args, "--server", s.url)...)
		if code == 0 || strings.Contains(out, "bus init") || strings.Contains(out, "bus adopt") {
			t.Errorf("%q: exit %d: %s", args, code, out)
		}
		t.Logf("%q: %s", args, out)
	}
	s.start(1)
	s.start(2)
	for late = time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(t.Context(), publishWithin)
		made, err := s.bucketReplicas(ctx)
		cancel()
		if err == nil && made == 3 {
			return
		}
		if err == nil || time.Now().After(late) {
			t.Fatalf("the bucket has %d replicas: %v", made, err)
		}
	}
}

// bucketReplicas makes a bucket, and returns how many servers keep it.
func (s *servers) bucketReplicas(ctx context.Context) (int, error) {
	conn, err := nats.Connect(s.url)
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
