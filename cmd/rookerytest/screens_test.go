package rookerytest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	webOne    = `{"web":{"image":"localhost/web:1","scale":3,"ports":[{"name":"http","port":8080}],"update":{"min_healthy":"100ms"}}}`
	webAndDB  = `{"web":{"image":"localhost/web:2","scale":3,"ports":[{"name":"http","port":8080}],"update":{"min_healthy":"100ms"}},"database":{"image":"localhost/db:1"}}`
	webCanary = `{"web":{"image":"localhost/web:3","scale":3,"ports":[{"name":"http","port":8080}],"update":{"min_healthy":"100ms","canaries":1}}}`
	noImage   = `{"bad":{"image":"localhost/bad:1","update":{"min_healthy":"100ms","healthy_deadline":"3s","progress_deadline":"3s"}}}`
)

// TestScreens sits at terminals of two sizes and looks at what the commands show there: with tmux, from outside.
func TestScreens(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ width, height int }{{80, 24}, {200, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size.width, size.height), func(t *testing.T) {
			cluster := startCluster(t)
			for _, engine := range cluster.Nodes {
				engine.Refuse("localhost/bad:1", &node.Failure{
					Reason: events.OfflineImagePull, Message: "initializing source docker://localhost/bad:1: reading manifest 1 in localhost/bad: manifest unknown",
				})
			}
			d := newDesk(t, cluster, size.width, size.height)
			d.applies()
			d.appliesGroups()
			d.appliesInVain()
			d.stopsApplying()
			d.lists()
			d.inspects()
			d.triesFirst()
			d.top()
			d.watches()
			d.completes()
		})
	}
}

// inTurn fails the test where these do not stand in what was printed, in this order.
func (d *desk) inTurn(printed []string, words ...string) {
	d.t.Helper()
	if !says(printed, words...) {
		d.t.Errorf("it does not say, in this order, %q:\n%s", words, strings.Join(printed, "\n"))
	}
}

// applies deploys one service, and then that service and another.
func (d *desk) applies() {
	d.write("one.json", webOne)
	d.write("two.json", webAndDB)
	all := d.runs("apply-one", "rookery apply demo one.json --yes --verbose", 0)
	d.inTurn(all, "Plan for demo, at sequence ", "demo/web  create  image: \"localhost/web:1\"", "1 to create", "demo/web: command 1 is stored",
		"instance.placed 0.1 on node-", "instance.prepared ", "instance.started ", "instance.online ", "demo/web: command 1 succeeded: http=127.0.0.1:2", "[0]")
	rowsBelow(d.t, all, "SERVICE   ACTION  WHAT", 4)
	all = d.runs("apply-two", "rookery apply demo two.json --yes --verbose", 0)
	d.inTurn(all, "1 to create, 1 to change", "demo/database: command 2 is stored", "demo/web: command 3 is stored",
		"operation.started update to revision 2 of slots 0-2", "operation.entered start of wave 1", "operation.entered retire of wave 1",
		"operation.entered start of wave 2", "operation.entered retire of wave 3", "operation.ended (done)", "demo/web: command 3 succeeded", "[0]")
	d.inTurn(all, "instance.online 0.1", "demo/database: command 2 succeeded")
	d.inTurn(d.runs("apply-again", "rookery apply demo two.json", 0), "unchanged  it is running", "2 unchanged, nothing to do")
	d.write("three.json", `{"database":{"image":"localhost/db:2","update":{"min_healthy":"100ms","canaries":1}}}`)
	d.begins("rookery apply demo three.json --yes")
	d.shows("demo/database: command 4 is stored", "demo/database: waits for rookery promote demo/database · placed 1 · online 1")
	d.keep("apply-counts")
	d.cluster.Command("demo/database", "promote", `{}`)
	all = d.ends(0)
	d.inTurn(all, "demo/database: command 4 is stored", "demo/database: command 4 succeeded", "[0]")
	if says(all, "placed") || says(all, "operation.") {
		d.t.Errorf("the line that counts is not removed, or events are shown:\n%s", strings.Join(all, "\n"))
	}
	d.keep("apply-phases")
	d.inTurn(d.runs("apply-json", "rookery apply demo one.json -y -o json | wc -l", 0),
		"demo/web: command 6 is stored", "demo/web: command 6 succeeded", "\n1\n[0]")
}

// appliesGroups deploys the services of a Compose file, and then a file with one service that fails.
func (d *desk) appliesGroups() {
	d.write("compose.yaml", shopFile)
	all := d.runs("apply-group", "rookery apply -f compose.yaml --yes --verbose", 0)
	d.inTurn(all, "config shop.web-", "Different from Compose:", "3 to create", "is written", "command 7 is stored", "group.started of db; then api; then web",
		"group.entered stage 1: db", "shop/db  instance.online 0.1", "group.entered stage 2: api", "group.entered stage 3: web", "group.ended (done)",
		"group shop/shop: command 7 succeeded", "[0]")
	d.write("worse.yaml", strings.NewReplacer("db:1}", "db:2}", "{image: localhost/api:1,",
		`{image: localhost/bad:1, x-rookery: {update: {min_healthy: 100ms, healthy_deadline: 3s, progress_deadline: 3s}},`).Replace(shopFile))
	all = d.runs("apply-group-in-vain", "rookery apply -f worse.yaml --yes --verbose", 4)
	d.inTurn(all, "command 8 is stored", "group.entered stage 2: api", "operation.entered start of wave 1", "(image-pull)", "group.aborted",
		"group.entered rollback of stage 1: db", "group.ended (gone-back)", "rookery: command 8 failed (", "[4]")
}

// appliesInVain deploys a service whose image does not exist.
func (d *desk) appliesInVain() {
	d.write("bad.json", noImage)
	all := d.runs("apply-in-vain", "rookery apply demo bad.json --yes --verbose", 4)
	d.inTurn(all, "demo/bad: command 9 is stored", "instance.offline 0.1 on node-", "(image-pull)", "rookery: demo/bad: command 9 failed (progress-deadline):",
		"manifest", "[4]")
	d.inTurn(d.runs("apply-rejected", "rookery apply demo nothing.json", 1), "rookery: open nothing.json: no such file")
}

// stopsApplying presses Ctrl-C at the question, and while an update waits for an operator.
func (d *desk) stopsApplying() {
	d.write("canary.json", webCanary)
	d.begins("rookery apply demo canary.json")
	d.shows("update.canaries: none → 1", "Carry out this plan? [y/N]")
	d.types("", "C-c")
	d.inTurn(d.ends(130), "Carry out this plan? [y/N]", "\nrookery: interrupted: nothing was done")
	d.keep("apply-not-begun")
	d.begins("rookery apply demo canary.json --yes")
	d.shows("demo/web: waits for rookery promote demo/web · placed 1 · online 1")
	d.types("", "C-c")
	d.inTurn(d.ends(130), "\nrookery: interrupted: these commands continue: 10 (demo/web): see `rookery ps`")
	d.keep("apply-stopped")
}

// lists looks at each list.
func (d *desk) lists() {
	nodes := rowsBelow(d.t, d.runs("nodes", "rookery nodes", 0), "NODE  ", 3)
	if nodes[0]["NODE"] != "node-0" || nodes[2]["STATE"] != "ready" {
		d.t.Errorf("the nodes are %v", nodes)
	}
	services := rowsBelow(d.t, d.runs("services", "rookery services", 0), "SERVICE  ", 6)
	if services[2]["SERVICE"] != "demo/web" || services[2]["STATE"] != "updating" || services[2]["INSTANCES"] != "1/3" {
		d.t.Errorf("the services are %v", services)
	}
	all := d.runs("ops", "rookery ops", 0)
	operations := rowsBelow(d.t, all, "SERVICE  ", 4)
	if operations[1]["PHASE"] != "promote" || operations[1]["WAVE"] != "1/3" || operations[1]["WAITS FOR"] != "rookery promote" {
		d.t.Errorf("the operations are %v", operations)
	}
	d.inTurn(all, "demo/web: update to revision 4, wave 1 of 3, slots 0, phase promote")
	instances := rowsBelow(d.t, d.runs("ps", "rookery ps demo/web", 0), "SERVICE  ", 3)
	if instances[0]["STATUS"] != "online" || !strings.HasPrefix(instances[2]["ADDRESSES"], "http=127.0.0.1:") {
		d.t.Errorf("the instances are %v", instances)
	}
	d.runs("events", "rookery events demo/web", 0)
	d.runs("explain", "rookery explain demo/web", 0)
	d.runs("stats", "rookery stats", 0)
	d.inTurn(d.runs("tokyo", "TZ=Asia/Tokyo rookery explain demo/web", 0), "+09:00)")
	d.inTurn(d.runs("utc", "TZ=Asia/Tokyo rookery explain demo/web --utc", 0), "Z)")
}

// inspects looks at one service, one slot, one node, and at what files can hold.
func (d *desk) inspects() {
	d.runs("inspect-service", "rookery inspect demo/web", 0)
	d.runs("inspect-slot", "rookery inspect demo/web/0", 0)
	d.runs("inspect-node", "rookery inspect node-0", 0)
	d.inTurn(d.runs("export", "rookery export demo/database", 0), "kind: service", "name: demo/database", "image: localhost/db:2")
	d.write("app.conf", "listen 80")
	d.inTurn(d.runs("config", "rookery config put demo/app app.conf && rookery config ls demo", 0), "CONFIG", "demo/app  9")
	d.inTurn(d.runs("policy", "rookery policy get", 0), "profile: distribute-load")
	d.inTurn(d.runs("version", "rookery version", 0), "PROGRAM", "rookery ", "nats-server ")
}

// triesFirst asks what changes would do, and then does not want one.
func (d *desk) triesFirst() {
	d.inTurn(d.runs("scale-dry-run", "rookery scale demo/database 3 --dry-run", 7), "Plan for demo/database", "create", "nothing was done: --dry-run", "[7]")
	d.inTurn(d.runs("label-dry-run", "rookery node label node-0 disk=ssd --dry-run", 7), "this command leads to:", "node node-0.updated", "[7]")
	d.begins("rookery drop demo/database")
	d.shows("demo/database", "[y/N]")
	d.types("n", "Enter")
	d.inTurn(d.ends(1), "nothing was done")
	d.keep("drop-not-begun")
}
