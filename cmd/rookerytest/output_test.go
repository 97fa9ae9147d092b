package rookerytest_test

import (
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
)

// TestPeopleAreToldWhereOutputIs makes an instance print a line and fail, and finds that line as an operator does.
func TestPeopleAreToldWhereOutputIs(t *testing.T) {
	t.Parallel()
	const line, key = "it is of no use", "demo.web.0.1.0"
	cluster := startCluster(t, rookerytest.WithNodes(1))
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","restart":{"policy":"never"}}`)
	id := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1}
	if !cluster.Nodes["node-0"].Print(id, line) || !cluster.Nodes["node-0"].Kill(id, 3) {
		t.Fatal("the instance does not run")
	}
	cluster.Until("the view says that it is offline", func() bool {
		out, _ := rookery(t, "ps", "--server", cluster.URL)
		return strings.Contains(out, "offline (exited with 3)") && strings.HasSuffix(out, "\ndemo/web/0 printed last: nats kv get --raw rookery_output "+key+"\n")
	})
	out, code := rookery(t, "events", "demo/web", "--server", cluster.URL)
	if want := "instance.offline 0.1 on node-0 (exited with 3) it is not restarted: the policy is never; " +
		"last output: nats kv get --raw rookery_output " + key + "\n"; code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("the events are, with exit code %d:\n%s\nwant this at their end: %s", code, out, want)
	}
	if out, _ := rookery(t, "events", "--output", "json", "--server", cluster.URL); strings.Contains(out, line) || !strings.Contains(out, `"output":"`+key+`"`) {
		t.Errorf("the log has the line, or nothing refers to it:\n%s", out)
	}
	if got := runNATS(t, cluster, "kv", "get", "--raw", "rookery_output", key); got != line+"\n" {
		t.Errorf("what it printed last is %q", got)
	}
}
