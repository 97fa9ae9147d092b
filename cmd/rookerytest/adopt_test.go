package rookerytest_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/rookery-project/rookery/cmd/rookery/secure"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node/podman/podmantest"
)

// opened is a cluster on a bus that everybody may use, with a node on each of these Podman hosts.
type opened struct {
	testing.TB
	url         string
	conn        *nats.Conn
	bus         *bus.JetStream
	coordinator *process
	hosts       map[string]*realNode
}

func openCluster(t testing.TB, hosts map[string]*realNode) *opened {
	t.Helper()
	o := &opened{TB: t, hosts: hosts}
	_, o.url = startServerAt(t, t.TempDir(), "127.0.0.1", freePorts(t))
	var err error
	if o.conn, err = nats.Connect(o.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.conn.Close)
	if o.bus, err = bus.New(o.conn); err != nil {
		t.Fatal(err)
	}
	o.does(0, "", "bus", "init")
	foundsAtLevelZero(t, o.bus)
	o.coordinates()
	joined := subscribe(t, o.bus, events.EventRoot+".node.*.joined")
	for name, r := range hosts {
		r.node = startProcess(t, "node", "--server", o.url, "--podman", r.uri, "--name", name, "--ports", r.ports)
	}
	for range hosts {
		receive(t, joined)
	}
	return o
}

func (o *opened) coordinates() { o.coordinator = startProcess(o.TB, "coordinator", "--server", o.url) }

// does runs a command on the open bus, which must end with this code and say this.
func (o *opened) does(code int, says string, args ...string) {
	o.Helper()
	if out, got := rookery(o, append(args, "--server", o.url)...); got != code || !strings.Contains(out, says) {
		o.Fatalf("%q: exit %d, want %d: %s; want %q", args, got, code, out, says)
	}
}

// publishes sends a command to the open bus, and returns the sequence of its acknowledgement.
func (o *opened) publishes(command, body string) uint64 {
	o.Helper()
	sequence, err := o.bus.Publish(o.Context(), events.Message{Subject: events.CommandRoot + "." + command, Header: events.Header{}, Body: []byte(body)})
	if err != nil {
		o.Fatal(err)
	}
	return sequence
}

// begins starts the adoption, until it waits for the end of the coordinators.
func (o *opened) begins(s *secured) *process {
	o.Helper()
	p := startProcess(o, "secure", "adopt", "--server", o.url, "--dir", s.folder)
	if !p.prints("Stop the coordinators of the open bus now") {
		o.Fatalf("the adoption does not wait for the end of the coordinators: %s", p.output)
	}
	return p
}

// missing counts the commands to the open bus that have not succeeded, by the log of the new one, and how often a node was silent.
func (o *opened) missing(moved *bus.JetStream, acknowledged []uint64) (lost, silent int) {
	o.Helper()
	ends, after := map[uint64]bool{}, false
	folded(o, moved, func(r events.Record) {
		switch d := r.Data.(type) {
		case events.ClusterAdopted:
			after = d.Accounts // commands count from 1 again
		case events.CommandSucceeded:
			ends[d.Sequence] = ends[d.Sequence] || !after
		case events.NodeSilent:
			silent++
		}
	})
	for _, sequence := range acknowledged {
		if !ends[sequence] {
			lost++
		}
	}
	return lost, silent
}

// moves starts each node again with its credentials for the new servers, and then a coordinator.
func (o *opened) moves(s *secured) {
	o.Helper()
	for name, r := range o.hosts {
		r.node.kill()
		s.moves(secure.ContextFile(name))
		r.node = startProcess(o, "node", "--name", name, "--context", s.context(name), "--podman", r.uri, "--ports", r.ports)
	}
	if leads := s.coordinates(); !leads.prints("leading") {
		o.Fatalf("the coordinator does not lead: %s", leads.output)
	}
}

// TestAnOpenClusterIsAdoptedOnPodman moves a cluster of two nodes to servers that know who connects, while commands arrive, an update is under way, a
// command waits behind it, and a group changes. The adoption is ended by Ctrl-C and killed before. No acknowledged command is lost, no node is silent,
// and no container is restarted.
func TestAnOpenClusterIsAdoptedOnPodman(t *testing.T) {
	t.Parallel()
	hosts := map[string]*realNode{"edge-1": newReal(t), "edge-2": newReal(t)}
	o, s := openCluster(t, hosts), secureServer(t)
	o.does(0, "", "ensure", "demo/web", "--image", podmantest.WebReference, "--scale", "4")
	before := map[string]string{}
	for name, r := range hosts {
		before[name] = r.containers()
	}
	o.does(1, "the cluster is at level 0", "secure", "adopt", "--dir", s.folder)
	o.does(0, "", "cluster", "finish-upgrade")

	decided := subscribe(t, o.bus, events.EventRoot+".node.edge-1.command.succeeded")
	load := sendsOver(t, o.conn, "rookery.cmd.node.edge-1.resume", `{}`)
	const underWay = 20
	for range underWay {
		receive(t, decided)
	}
	interrupted := o.begins(s)
	interrupted.signal(syscall.SIGINT)
	<-interrupted.ended
	receive(t, decided) // the open bus takes commands again

	slow := fmt.Sprintf(`"image":%q,"update":{"min_healthy":"4s"}`, podmantest.WebReference)
	succeeded := subscribe(t, o.bus, events.EventRoot+".service.demo.slow.command.succeeded")
	o.publishes("service.demo.slow.ensure", "{"+slow+"}")
	receive(t, succeeded)
	acknowledged := []uint64{
		o.publishes("service.demo.slow.ensure", "{"+slow+`,"env":{"A":"1"}}`),
		o.publishes("service.demo.slow.scale", `{"scale":2,"busy":"queue"}`),
		o.publishes("group.demo.pair.ensure", fmt.Sprintf(`{"services":{"one":{"image":%[1]q},"two":{"image":%[1]q}}}`, podmantest.WebReference)),
	}
	o.begins(s).kill()
	adopts := o.begins(s)
	o.coordinator.kill()
	acknowledged = append(acknowledged, load.stop()...)
	if <-adopts.ended; adopts.cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("the adoption failed: %s", adopts.output)
	}
	o.does(1, "", "node", "resume", "edge-1")
	o.moves(s)
	operator := s.bus(secure.Operator)
	for name := range hosts {
		(&applicant{s, name, ""}).becomes(operator, "ready")
	}
	s.as(0, "", secure.Operator, "scale", "demo/web", "5")

	lost, silent := o.missing(operator, acknowledged)
	restarted := 0
	for name, r := range hosts {
		after := r.containers()
		for id := range strings.FieldsSeq(before[name]) {
			if !strings.Contains(after, id) {
				restarted++
			}
		}
	}
	configs, err := o.bus.Bucket(t.Context(), bus.BucketConfigs)
	if err == nil {
		err = configs.Set(t.Context(), "demo.late", []byte("x"))
	}
	if err == nil {
		t.Error("the open bus takes a config")
	}
	o.does(0, "start its rookery node again", "secure", "adopt", "--dir", s.folder)
	o.does(0, "", "bus", "migrate", "--yes") // the way back
	o.coordinates()
	o.does(0, "", "node", "resume", "edge-1")
	o.does(1, "the open bus has gone on since it was copied", "secure", "adopt", "--dir", s.folder)
	if len(acknowledged) < underWay || lost+restarted+silent > 0 {
		t.Fail()
	}
	fmt.Printf("adopted: acknowledged %d, lost %d, restarted %d, silent %d\n", len(acknowledged), lost, restarted, silent)
}
