package rookerytest_test

import (
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/node"
)

func count(cluster *rookerytest.Cluster, state node.State) int {
	n := 0
	for _, engine := range cluster.Nodes {
		for _, c := range engine.Containers() {
			if c.State == state {
				n++
			}
		}
	}
	return n
}

func TestEnsureScaleDropRunTheirCourse(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithLog(t.Output()))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3,"ports":[{"name":"http","port":8080}]}`)
	if n := count(cluster, node.Running); n != 3 {
		t.Fatalf("%d containers run, want 3", n)
	}
	cluster.Command("demo/web", "scale", `{"scale":50}`)
	cluster.Command("demo/web", "scale", `{"scale":5}`)
	if n := count(cluster, node.Running); n != 5 {
		t.Fatalf("%d containers run, want 5", n)
	}
	cluster.Command("demo/web", "drop", `{}`)
	if n := count(cluster, node.Running); n != 0 {
		t.Fatalf("%d containers run, want 0", n)
	}
	t.Logf("%+v", cluster.State())
}
