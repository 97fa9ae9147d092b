package rookerytest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
)

func TestAddressesOfAPortAreToldInOrder(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3,"ports":[{"name":"http","port":80},{"name":"admin","port":81}]}`)
	var told api.Addresses
	cluster.Until("every slot serves", func() bool {
		told = api.Addresses{}
		return cluster.Ask("addresses", `{"namespace":"demo","name":"web","port":"admin"}`, &told) && len(told.Slots) == 3 &&
			told.Slots[0].Online && told.Slots[1].Online && told.Slots[2].Online
	})
	for o, slot := range told.Slots {
		want := ""
		for _, engine := range cluster.Nodes {
			for _, c := range engine.Containers() {
				if c.Instance.Ordinal == uint32(o) {
					want = fmt.Sprintf("127.0.0.1:%d", c.Ports[1].HostPort)
				}
			}
		}
		if slot.Ordinal != uint32(o) || slot.Generation != 1 || slot.Address != want {
			t.Errorf("slot %d is %+v, and its container is published at %s", o, slot, want)
		}
	}
}

func TestQuestionsSayWhatIsWrongWithThem(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":0,"ports":[{"name":"http","port":80}]}`)
	cluster.Until("all nodes have joined", func() bool { return cluster.State().Nodes == len(cluster.Nodes) })
	for _, row := range []struct{ question, body, code, reason string }{
		{"addresses", `{"namespace":"demo","name":"web","port":"htp"}`, "404", `service demo/web has no port "htp": it has http`},
		{"addresses", `{"namespace":"demo","name":"db","port":"http"}`, "404", "there is no service demo/db"},
		{"addresses", `{"namespace":"demo"}`, "400", `ask with {"namespace":"demo","name":"web","port":"http"}`},
		{"addresses", `{"service":"demo/web"}`, "400", `ask with {"namespace":"demo","name":"web","port":"http"}`},
		{"addresses", `{"namespace":"demo","name":"weeb","port":"http"}`, "404", "there is no service demo/weeb: did you mean demo/web?"},
		{"service-metrics", `{"namespace":"demo","name":"weeb"}`, "404", "there is no service demo/weeb: did you mean demo/web?"},
		{"exec", `{"service":"demo/weeb"}`, "404", "there is no service demo/weeb: did you mean demo/web?"},
		{"actual", `{"node":"nod-1"}`, "404", "there is no node nod-1: did you mean node-1?"},
		{"actual", `{"node":"elsewhere"}`, "404", "there is no node elsewhere"},
		{"actual", ``, "400", `ask with {"node":"edge-1"}`},
		{"logs", `{"service":"demo/db"}`, "404", "there is no service demo/db"},
		{"logs", `{"service":"demo/web"}`, "404", "service demo/web has no such instance on any node"},
		{"logs", `{"service":"demo/web","tail":5000}`, "400", "tail 5000 is out of range: give 0 to 1000"},
		{"logs", `{"name":"web"}`, "400", `ask with {"service":"demo/web","tail":20}`},
		{"exec", `{"service":"web"}`, "400", "write namespace/name"},
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

func TestACommandThatChangesNothingSaysSo(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	for _, row := range []struct {
		verb, body string
		unchanged  bool
	}{
		{"ensure", `{"image":"localhost/web:1","scale":2}`, false},
		{"ensure", `{"image":"localhost/web:1"}`, true},
		{"ensure", `{"scale":2,"stop_grace":"10s","image":"localhost/web:1"}`, true},
		{"scale", `{"scale":2}`, true},
		{"scale", `{"scale":1}`, false},
		{"ensure", `{"image":"localhost/web:2"}`, false},
	} {
		outcome := cluster.Outcome(cluster.Publish("demo/web", row.verb, row.body))
		if outcome.Outcome != "succeeded" || outcome.Unchanged != row.unchanged {
			t.Errorf("%s %s: %+v, want it to succeed, and unchanged %t", row.verb, row.body, outcome, row.unchanged)
		}
	}
}

func TestLogsAndWhereToExecuteAreTold(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t)
	cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
	for i := range uint32(30) {
		printTo(t, cluster, i%3, 1, fmt.Sprintf("line %d", i))
	}
	name, _ := nodeOf(t, cluster, 2, 1)
	var told api.Logs
	if !cluster.Ask("logs", `{"service":"demo/web","tail":2}`, &told) || len(told.Lines) != 6 || told.LogSequence == 0 {
		t.Fatalf("the last two lines of each are %+v", told)
	}
	for i, l := range told.Lines {
		if l.Text != fmt.Sprintf("line %d", 24+i) || l.Ordinal != uint32(i%3) || l.Generation != 1 || l.Stream != events.Stdout {
			t.Errorf("line %d is %+v", i, l)
		}
	}
	for i := range 1000 {
		printTo(t, cluster, 0, 1, fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000)))
	}
	told = api.Logs{}
	if !cluster.Ask("logs", `{"service":"demo/web","ordinal":0,"tail":1000}`, &told) || !told.Truncated || len(told.TruncatedInstances) != 1 || len(told.Lines) == 0 ||
		!strings.HasPrefix(told.Lines[len(told.Lines)-1].Text, "999 x") {
		t.Errorf("of a megabyte there are %d lines, and truncated are %v", len(told.Lines), told.TruncatedInstances)
	}
	var where api.Sessions
	want := "rookery.node." + name + ".exec.demo.web.2.1"
	if !cluster.Ask("exec", `{"service":"demo/web","ordinal":2}`, &where) || len(where.Instances) != 1 || where.Instances[0].Subject != want || !where.Instances[0].Online {
		t.Errorf("where to execute is told as %+v, want %s", where, want)
	}
	cluster.StopNode(name)
	told = api.Logs{}
	if !cluster.Ask("logs", `{"service":"demo/web","tail":1}`, &told) || len(told.Missing) == 0 ||
		told.Missing[0].Reason != "node "+name+" does not answer" {
		t.Errorf("without a node it is %+v", told)
	}
}
