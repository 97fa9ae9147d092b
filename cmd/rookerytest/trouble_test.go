package rookerytest_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// handles returns the handle of every running container by instance.
func handles(cluster *rookerytest.Cluster) map[events.InstanceID]string {
	all := map[events.InstanceID]string{}
	for name, engine := range cluster.Nodes {
		for _, c := range engine.Containers() {
			if c.State == node.Running {
				all[c.Instance] = name + "/" + c.Handle
			}
		}
	}
	return all
}

// says waits until the process has printed the words.
func (p *process) says(cluster *rookerytest.Cluster, words string) {
	p.t.Helper()
	cluster.Until(fmt.Sprintf("the process says %q", words), func() bool { return strings.Contains(p.output.String(), words) })
}

// TestDeletedStreams deletes each stream that the log knows, live: the coordinator stops and says what to do, what runs
// runs on, and `rookery bus adopt` is the way out.
func TestDeletedStreams(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"ROOKERY_COMMANDS", "ROOKERY_ORDERS"} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			cluster := startCluster(t, rookerytest.WithoutCoordinator(), rookerytest.WithLog(t.Output()))
			leader := startCoordinator(t, cluster)
			cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":6}`)
			before := handles(cluster)

			runNATS(t, cluster, "stream", "rm", "-f", stream)
			leader.says(cluster, stream+" is missing")
			leader.says(cluster, "rookery bus adopt")
			if out, code := rookery(t, "bus", "check", "--server", cluster.URL); code == 0 || !strings.Contains(out, stream) {
				t.Errorf("bus check ends with %d and says:\n%s", code, out)
			}
			if out, code := rookery(t, "bus", "adopt", "--server", cluster.URL); code != 0 {
				t.Fatalf("bus adopt ends with %d and says:\n%s", code, out)
			}
			cluster.Command("demo/web", "scale", `{"scale":7}`)

			after := handles(cluster)
			for id, handle := range before {
				if after[id] != handle {
					t.Errorf("%s was %s and is %q", id, handle, after[id])
				}
			}
			if len(after) != 7 {
				t.Errorf("%d containers run, want 7", len(after))
			}
			if out, code := rookery(t, "bus", "check", "--server", cluster.URL); code != 0 {
				t.Errorf("bus check ends with %d and says:\n%s", code, out)
			}
			checkActual(t, cluster, readHistory(t, cluster).cluster)
			cluster.CheckReplay()
		})
	}
}

// TestDeletedStatuses deletes the stream that the server keeps in memory alone: the leader makes it again and says so.
func TestDeletedStatuses(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithoutCoordinator(), rookerytest.WithLog(t.Output()))
	leader := startCoordinator(t, cluster)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":6}`)
	before := handles(cluster)
	runNATS(t, cluster, "stream", "rm", "-f", "ROOKERY_STATUS")
	leader.says(cluster, "ROOKERY_STATUS was deleted")
	leader.says(cluster, "nodes are asked for all they have")
	cluster.Command("demo/web", "scale", `{"scale":7}`)
	after := handles(cluster)
	for id, handle := range before {
		if after[id] != handle {
			t.Errorf("%s was %s and is %q", id, handle, after[id])
		}
	}
	checkActual(t, cluster, readHistory(t, cluster).cluster)
	cluster.CheckReplay()
}

// TestDeletedViews deletes each view, live: the leader writes it again.
func TestDeletedViews(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":2,"update":{"min_healthy":"0s"}}`)
	cluster.Command("demo/web", "restart", `{}`)
	for bucket, key := range map[string]string{
		"rookery_services": "demo.web", "rookery_instances": "demo.web.1", "rookery_nodes": "node-0",
		"rookery_operations": "demo.web",
	} {
		cluster.Until(bucket+" is written", func() bool { return strings.Contains(runNATS(t, cluster, "kv", "ls", bucket), key) })
		runNATS(t, cluster, "kv", "del", bucket, "-f")
		cluster.Until(bucket+" is written again", func() bool {
			return strings.Contains(runNATS(t, cluster, "kv", "ls"), bucket) && strings.Contains(runNATS(t, cluster, "kv", "ls", bucket), key)
		})
	}
	cluster.Command("demo/web", "scale", `{"scale":3}`)
	cluster.CheckReplay()
}

// TestLogRestoredFromOlderBackup backs the log up, lets more happen, and restores it: the coordinator stops, and after
// `rookery bus adopt` what runs is known again, nothing was stopped, and no acknowledged command is lost.
func TestLogRestoredFromOlderBackup(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithoutCoordinator(), rookerytest.WithLog(t.Output()))
	leader := startCoordinator(t, cluster)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	backup := filepath.Join(t.TempDir(), "backup")
	runNATS(t, cluster, "stream", "backup", "--no-progress", "ROOKERY_LOG", backup)
	cluster.Command("demo/web", "scale", `{"scale":6}`)
	cluster.Ensure("demo/db", `{"image":"localhost/db:1","scale":2}`)
	before := handles(cluster)

	runNATS(t, cluster, "stream", "rm", "-f", "ROOKERY_LOG")
	runNATS(t, cluster, "stream", "restore", "--no-progress", backup)
	leader.says(cluster, "restored from an older backup")
	leader.says(cluster, "rookery bus adopt")
	late := cluster.Publish("demo/web", "scale", `{"scale":7,"busy":"supersede"}`)
	if out, code := rookery(t, "bus", "adopt", "--server", cluster.URL); code != 0 {
		t.Fatalf("bus adopt ends with %d and says:\n%s", code, out)
	}
	if outcome := cluster.Outcome(late); outcome.Outcome != "succeeded" {
		t.Errorf("the command of the meantime ended as %+v", outcome)
	}
	cluster.Until("demo/db is settled", func() bool { return cluster.State().Open == 0 })

	after := handles(cluster)
	for id, handle := range before {
		if after[id] != handle {
			t.Errorf("%s was %s and is %q", id, handle, after[id])
		}
	}
	if len(after) != 9 {
		t.Errorf("%d containers run, want 9: %v", len(after), maps.Keys(after))
	}
	checkActual(t, cluster, readHistory(t, cluster).cluster)
	cluster.CheckReplay()
}

// TestEachCopyOfTheLogIsVerified reads the log as the only server has it: whole, and then with a round that does not follow the one before.
func TestEachCopyOfTheLogIsVerified(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, rookerytest.WithNodes(0), rookerytest.WithoutCoordinator())
	for _, tt := range []struct {
		round, after uint64
		ok           bool
		says         string
	}{
		{1, 0, true, ": the log is whole, 1 messages"},
		{3, 1, false, " has a damaged copy of the log: log sequence 2: broken hash chain"},
	} {
		m, err := events.Record{
			Event: events.Event{Scope: events.RoundScope, Data: events.RoundClosed{Round: tt.round}}, Sequence: tt.after + 1, Time: time.Now(),
		}.Message("")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.Bus().Append(t.Context(), bus.Log, tt.after, []events.Message{m}); err != nil {
			t.Fatal(err)
		}
		out, code := rookery(t, "bus", "check", "--deep", "--server", cluster.URL)
		if (code == 0) != tt.ok || !strings.Contains(out, tt.says) {
			t.Errorf("bus check --deep ends with %d and says:\n%s", code, out)
		}
	}
}
