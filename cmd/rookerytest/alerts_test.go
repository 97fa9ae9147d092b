package rookerytest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/strike"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// alarm is an alert, and the fault that makes it fire.
type alarm struct {
	alert string
	// about is the label that tells the fault's alert from those of others; "" where there is only one of it. The node is the second host.
	about string
	fault func(*gallery)
}

// alarms are all alerts. In the last two the lead may change again and again, for which another one would fire.
var alarms = []alarm{
	{"RookeryPendingTooLong", `rookery_service="waits"`, func(g *gallery) {
		g.heals(func() { g.published("demo/waits", "drop", `{}`) })
		g.published("demo/waits", "ensure", webSpec(`,"scale":1,"node_selector":{"host":"none"}`))
	}},
	{"RookeryReplicaMissing", `rookery_service="sick"`, func(g *gallery) {
		g.heals(func() { g.published("demo/sick", "ensure", webSpec(`,"scale":1,"args":[],"busy":"supersede"`)) })
		g.published("demo/sick", "ensure", webSpec(`,"scale":1,"args":["-exit-after","1ms"]`))
	}},
	{"RookeryOperationOverdue", `rookery_service="late"`, func(g *gallery) {
		g.heals(func() { g.published("demo/late", "rollback", `{"busy":"supersede"}`) })
		g.pauses("demo/late")
	}},
	{"RookeryNodeDegraded", `rookery_node="barn-1"`, func(g *gallery) {
		pid := podmantest.ServicePID(g.t, g.beside.uri)
		g.heals(func() { g.signal(pid, syscall.SIGCONT) })
		g.signal(pid, syscall.SIGSTOP)
	}},
	{"RookeryNodeSilent", `rookery_node="barn-1"`, func(g *gallery) {
		g.heals(func() { g.startNode(g.beside) })
		g.beside.node.kill()
	}},
	{"RookeryStreamNearBound", `rookery_stream="ROOKERY_STATUS"`, floods},
	{"RookeryBackupOld", "", blocks},
	{"RookeryUnitShunned", `rookery_scope="service demo/struck"`, shuns},
	{"RookeryNoLeader", "", func(g *gallery) {
		g.heals(func() {
			for _, c := range g.coordinators {
				g.startCoordinator(c)
			}
		})
		for _, c := range g.coordinators {
			c.process.kill()
		}
	}},
	{"RookeryNoQuorum", "", splits},
	{"RookeryCoordinatorLag", `rookery_stream="ROOKERY_COMMANDS"`, slows},
}

// sounds makes an alert fire by its fault, and waits until it stops after the fault is healed.
func (g *gallery) sounds(a alarm) {
	fires := func() bool {
		firing, err := g.prometheus.fires(a.alert, a.about)
		if err != nil {
			g.fail("%s: %v", a.alert, err)
		}
		return firing
	}
	// A single scrape that failed may make the alert fire for a moment.
	g.until(a.alert+" is silent before its fault", func() bool { return !fires() })
	began := time.Now()
	a.fault(g)
	g.until(a.alert+" fires", fires)
	fired := time.Since(began)
	g.look()
	if wrong := g.heal(); wrong != "" {
		g.fail("%s: %s", a.alert, wrong)
	}
	healed := time.Now()
	// The coordinator works off the backlog first, while all other tests load the machine.
	if !g.within(3*settlesWithin, func() bool { return !fires() }) {
		g.fail("%s does not stop", a.alert)
	}
	fmt.Printf("alert %s: fired %.1f s after its fault began, stopped %.1f s after it was healed\n",
		a.alert, fired.Seconds(), time.Since(healed).Seconds())
}

// shuns makes a coordinator lead that panics while it reconciles a service.
func shuns(g *gallery) {
	struck, err := struckProgram()
	if err != nil {
		g.fail("%v", err)
	}
	at := filepath.Join(g.t.TempDir(), "strikes")
	if err := os.WriteFile(at, []byte("reconcile of service demo/struck"), 0o600); err != nil {
		g.fail("%v", err)
	}
	lead := func(path string, env []string) {
		g.env = env
		for _, c := range g.coordinators {
			c.process.kill()
			c.path = path
			g.startCoordinator(c)
		}
	}
	g.heals(func() { lead(g.path, nil) })
	lead(struck, append(os.Environ(), strike.Variable+"="+at))
	g.published("demo/struck", "ensure", webSpec(`,"scale":1`))
}

// blocks puts a file where the coordinators have the folder of their backups.
func blocks(g *gallery) {
	moved := g.backups + ".moved"
	move := func(errs ...error) {
		if err := errors.Join(errs...); err != nil {
			g.fail("%v", err)
		}
	}
	g.heals(func() { move(os.Remove(g.backups), os.Rename(moved, g.backups)) })
	move(os.Rename(g.backups, moved), os.WriteFile(g.backups, nil, 0o600))
}

// floods fills the stream of statuses nearly to its bound with messages that are not statuses. Unlike a command, such a message stays in
// the stream after the coordinator has decided it. The test deletes these messages when it heals the fault.
func floods(g *gallery) {
	const share, bound, each = 85, 256 << 20, 1 << 19
	subject := events.StatusRoot + ".flood.instance.demo.flood.0.1"
	body := []byte(strings.Repeat("x", each))
	g.heals(func() {
		g.saw("%s", runNATS(g.t, g.Cluster, "stream", "purge", "--force", "--subject="+subject, string(bus.Statuses)))
	})
	for n := range bound * share / 100 / each {
		ctx, cancel := context.WithTimeout(g.interrupted, time.Minute)
		_, err := g.Bus().Publish(ctx, events.Message{Subject: subject, Body: body})
		cancel()
		if err != nil {
			g.fail("after %d statuses: %v", n, err)
		}
	}
}

// splits makes the coordinators use three other servers, two of which are killed.
func splits(g *gallery) {
	q := newQuorum(g.trial)
	before := make([][]string, len(g.coordinators))
	lead := func(reach func(int) []string) {
		for i, c := range g.coordinators {
			c.process.kill()
			c.reach = reach(i)
			g.startCoordinator(c)
		}
	}
	for i, c := range g.coordinators {
		before[i] = c.reach
	}
	g.heals(func() {
		lead(func(i int) []string { return before[i] })
		for _, s := range q.servers {
			s.process.kill()
		}
	})
	lead(func(int) []string { return q.reach })
	for _, s := range q.servers[1:] {
		s.process.kill()
	}
}

// slows delays the links of the coordinators, and sends more commands than the links let through.
func slows(g *gallery) {
	const delay, commands = 20 * time.Millisecond, 40_000
	for _, c := range g.coordinators {
		c.link.slow(delay)
		g.heals(func() { c.link.slow(0) })
	}
	subject := events.CommandSubject(events.ServiceID{Namespace: "demo", Name: "nobody"}, "scale")
	for range commands {
		if err := g.Conn.Publish(subject, []byte(scaleBody(1))); err != nil {
			g.fail("%v", err)
		}
	}
}
