package rookerytest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// composeExample is a file of deploy/examples/compose: its project, how many containers run of it, and which services answer under
// which ports.
type composeExample struct {
	file, project string
	running       int
	answer        string // service/port, in order
}

var composeExamples = []composeExample{
	{"wordpress.yaml", "wordpress", 2, "db/port-3306 wordpress/http"},
	{"flask-redis.yaml", "flask-redis", 2, "redis/port-6379 web/http"},
	{"nginx-golang-postgres.yaml", "nginx-golang-postgres", 3, "backend/port-8000 db/port-5432 proxy/http"},
	{"prometheus-grafana.yaml", "prometheus-grafana", 2, "grafana/http prometheus/http"},
	{"elasticsearch-logstash-kibana.yaml", "elk", 3, "elasticsearch/http kibana/http logstash/http"},
	{"voting.yaml", "voting", 7, "db/port-5432 redis/port-6379 result/http vote/http"},
}

// TestComposeExamplesOnPodman applies each example to one Podman: it serves. A second apply has nothing to do. An apply without the example
// leaves nothing of it.
func TestComposeExamplesOnPodman(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("../../deploy/examples/compose")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) != len(composeExamples) {
		t.Fatalf("%v: there are %d examples, and %d are tried", err, len(files), len(composeExamples))
	}
	r := startReal(t, "--allow-host-port", "1-65535")
	for _, e := range composeExamples {
		t.Run(e.project, func(t *testing.T) { r.composeExample(t, filepath.Join(folder, e.file), e) })
	}
	r.CheckReplay()
}

func (r *realNode) composeExample(t *testing.T, file string, e composeExample) {
	began := time.Now()
	apply := func(args ...string) string {
		t.Helper()
		out, code := rookery(t, append([]string{"apply", "--server", r.URL, "--yes"}, args...)...)
		if code != 0 {
			t.Fatalf("apply %v: exit %d: %s", args, code, out)
		}
		return out
	}
	apply("-f", file)
	if n := len(r.running()); n != e.running {
		t.Errorf("%d containers run, want %d", n, e.running)
	}
	var answered []string
	for id, c := range r.running() {
		for _, p := range c.Ports {
			if said := r.visit(p.HostPort); !strings.HasPrefix(said, id.Service.String()+" ordinal") {
				t.Errorf("%s of %s answers %q", p.Name, id, said)
			}
			answered = append(answered, id.Service.Name+"/"+p.Name)
		}
	}
	slices.Sort(answered)
	if got := strings.Join(slices.Compact(answered), " "); got != e.answer {
		t.Errorf("there answer %s, want %s", got, e.answer)
	}
	if out := apply("-f", file); !strings.Contains(out, "nothing to do") {
		t.Errorf("applied again: %s", out)
	}
	apply(e.project, "-f", nothing(t), "--prune")
	if n := len(r.running()); n != 0 {
		t.Errorf("%d containers run when all is dropped", n)
	}
	t.Logf("%s took %s", e.file, time.Since(began).Round(100*time.Millisecond))
}

// nothing is a file that lists no service.
func nothing(t *testing.T) string {
	t.Helper()
	return writeFile(t, "nothing.json", "{}")
}
