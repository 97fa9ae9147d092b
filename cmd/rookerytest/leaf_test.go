package rookerytest_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// The configurations of availability.md: of a hub, whose user leaf is for leaf nodes, and of a leaf node.
const (
	hubConfig = `
server_name: hub
listen: "127.0.0.1:-1"
jetstream {store_dir: %q, sync_interval: always, domain: hub}
leafnodes {listen: "127.0.0.1:-1"}
accounts {
	ROOKERY {
		jetstream: enabled
		users: [
			{user: admin, password: x}
			{user: leaf, password: x, permissions: {
				publish: ["rookery.>", "$JS.hub.API.>", "$JS.FC.>", "$O.>", "_INBOX.>"]
				subscribe: ["rookery.>", "_INBOX.>"]
			}}
		]
	}
}
`
	leafConfig = `
server_name: %s
listen: "127.0.0.1:%d"
leafnodes {remotes: [{url: "nats-leaf://leaf:x@%s", account: ROOKERY}]}
accounts {ROOKERY {%s users: [{user: node, password: x}]}}
%s
`
	leafMapped = "default_js_domain: {ROOKERY: hub}"
	leafOwn    = "jetstream {store_dir: %q, domain: edge}"
)

// listeningForLeaves is what a hub says, with the address.
var listeningForLeaves = regexp.MustCompile(`Listening for leafnode connections on (\S+)`)

func clientsAt(user string, server *process) string {
	return "nats://" + user + ":x@" + listening.FindStringSubmatch(server.output.String())[1]
}

// startHub runs a NATS server that leaf nodes may join, and returns the URL of its admin, and the address for leaf nodes.
func startHub(t testing.TB) (url, leaves string) {
	t.Helper()
	hub, _ := startConfigured(t, fmt.Sprintf(hubConfig, t.TempDir()))
	return clientsAt("admin", hub), listeningForLeaves.FindStringSubmatch(hub.output.String())[1]
}

// TestANodeBehindALeafNode runs a real node, and clients, at a leaf node without JetStream. The leaf node is killed, and a command is sent
// meanwhile. Once the leaf node runs again, the node carries it out, and its containers have kept running.
func TestANodeBehindALeafNode(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	url, leaves := startHub(t)
	r.Cluster = rookerytest.Start(t, rookerytest.WithServer(url), rookerytest.WithNodes(0), rookerytest.WithLog(t.Output()))
	leaf, again := startConfigured(t, fmt.Sprintf(leafConfig, "leaf", freePorts(t), leaves, "", leafMapped))
	at := clientsAt("node", leaf)
	r.flags = []string{"--server", at} // the last one counts
	r.join()
	asks := func(want string, args ...string) {
		t.Helper()
		if out, code := rookery(t, append([]string{args[0], "--server", at}, args[1:]...)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q at the leaf node: exit %d: %s; want %q", args, code, out, want)
		}
	}
	asks("succeeded", "ensure", "demo/web", "--image", podmantest.WebReference, "--port", "http:8080")
	before := r.running()
	for id, c := range before {
		if got, want := r.visit(c.Ports[0].HostPort), fmt.Sprintf("demo/web ordinal %d", id.Ordinal); !strings.HasPrefix(got, want) {
			t.Errorf("the instance answers %q, want %q", got, want)
		}
	}
	asks("online", "ps")
	asks("hub", "bus", "check")
	asks("", "logs", "demo/web")
	asks("succeeded", "history", "demo/web")

	leaf.kill()
	sequence := r.Publish("demo/web", "scale", `{"scale":2}`)
	again()
	if outcome := r.Outcome(sequence); outcome.Outcome != "succeeded" {
		t.Errorf("the command ended as %+v", outcome)
	}
	after := r.running()
	first := events.InstanceID{Service: events.ServiceID{Namespace: "demo", Name: "web"}, Generation: 1}
	if len(after) != 2 || after[first].Handle != before[first].Handle {
		t.Errorf("%v runs, and before the leaf node was killed %v", after, before)
	}
	asks("online", "ps")
	if out, code := rookery(t, "doctor", "--podman", r.uri, "--server", at); code != 0 {
		t.Errorf("doctor at the leaf node: exit %d: %s", code, out)
	}

	for _, row := range []struct{ account, more, says string }{
		{"jetstream: enabled,", fmt.Sprintf(leafOwn, t.TempDir()), `server other has a JetStream of its own, with the domain \"edge\"`},
		{"", "", "server other has no JetStream"},
	} {
		other, _ := startConfigured(t, fmt.Sprintf(leafConfig, "other", anyPort, leaves, row.account, row.more))
		refused := startProcess(t, "node", "--server", clientsAt("node", other), "--podman", r.uri, "--name", "refused", "--ports", freePortRange(t))
		refused.says(r.Cluster, row.says)
		other.kill()
	}
	if nodes := r.State().Nodes; nodes != 1 {
		t.Errorf("%d nodes have joined, want the one whose leaf node reaches the streams", nodes)
	}
}

// TestALeafNodeWithAJetStreamIsRefused asks at leaf nodes that do not reach the streams of the hub: no command makes others there. Lists come
// from a coordinator, and need no stream.
func TestALeafNodeWithAJetStreamIsRefused(t *testing.T) {
	t.Parallel()
	url, leaves := startHub(t)
	cluster := rookerytest.Start(t, rookerytest.WithServer(url), rookerytest.WithNodes(1))
	cluster.Until("the node has joined", func() bool { return cluster.State().Nodes == 1 })
	const own, none = `with the domain "edge": if it is a leaf node, connect to its hub, or to a leaf node without JetStream`,
		"server leaf has no JetStream and reaches none: if it is a leaf node, check its link to its hub"
	for _, row := range []struct {
		account, more, says, init string
	}{
		{"jetstream: enabled,", fmt.Sprintf(leafOwn, t.TempDir()), own, "a coordinator answers through this server"},
		{"jetstream: enabled,", fmt.Sprintf("jetstream {store_dir: %q}", t.TempDir()), "the stream does not exist", "a coordinator answers through this server"},
		{"", "", none, none},
	} {
		leaf, _ := startConfigured(t, fmt.Sprintf(leafConfig, "leaf", anyPort, leaves, row.account, row.more))
		at := clientsAt("node", leaf)
		for _, args := range [][]string{{"events"}, {"doctor"}, {"bus", "check"}, {"bus", "init"}, {"bus", "adopt"}} {
			want := row.says
			if args[len(args)-1] == "init" || args[len(args)-1] == "adopt" {
				want = row.init
			}
			if out, code := rookery(t, append(args, "--server", at)...); code == 0 || !strings.Contains(out, want) {
				t.Errorf("%q at a leaf node with %q: exit %d: %s; want %q", args, row.more, code, out, want)
			}
		}
		if out, code := rookery(t, "nodes", "--server", at); code != 0 || !strings.Contains(out, "node-0") {
			t.Errorf("nodes at a leaf node with %q: exit %d: %s", row.more, code, out)
		}
		startProcess(t, "coordinator", "--server", at).says(cluster, strings.ReplaceAll(row.says, `"`, `\"`))
		leaf.kill() // its hub closes the links of two servers of one name in turn
	}
}
