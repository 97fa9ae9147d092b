package rookerytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/cmd/simulation/strike"
	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// struckProgram is the real rookery, compiled with a panic in the place where the coordinator begins with a unit.
var struckProgram = sync.OnceValues(func() (string, error) {
	dir, err := programs()
	if err != nil {
		return "", err
	}
	overlay, err := strike.Overlay("../..", dir)
	if err != nil {
		return "", err
	}
	return compiled("rookery-struck", "github.com/rookery-project/rookery/cmd/rookery", "-overlay", overlay)
})

// struck is a cluster whose coordinator panics where it is told to.
type struck struct {
	*rookerytest.Cluster
	t      *testing.T
	file   string
	leader *process
}

// TestAPanicShunsTheUnitAtWorkAlone makes the coordinator panic in each kind of unit. The coordinator shuns that unit, an event names it,
// and its commands end as internal. The term and all other units continue.
func TestAPanicShunsTheUnitAtWorkAlone(t *testing.T) {
	t.Parallel()
	program, err := struckProgram()
	if err != nil {
		t.Fatal(err)
	}
	const nodes = 7
	s := &struck{Cluster: startCluster(t, rookerytest.WithoutCoordinator(), rookerytest.WithNodes(nodes)), t: t, file: filepath.Join(t.TempDir(), "strikes")}
	s.strike("")
	lead := func() {
		s.leader = startProgramIn(t, program, append(os.Environ(), strike.Variable+"="+s.file), "coordinator", "--server", s.URL, "--heartbeat", "500ms")
	}
	lead()
	s.Until("all nodes have joined", func() bool { return s.State().Nodes == nodes })
	s.Command("demo/everywhere", "ensure", `{"image":"localhost/web:1","mode":"global"}`)
	for _, node := range []string{"node-2", "node-3", "node-4", "node-5", "node-6"} { // they are to end, and the bystander is elsewhere
		if outcome := s.Outcome(s.ask("rookery.cmd.node."+node+".pause", `{}`)); outcome.Outcome != "succeeded" {
			t.Fatalf("the pause of %s ended as %+v", node, outcome)
		}
	}
	s.Command("demo/bystander", "ensure", `{"image":"localhost/web:1","scale":2}`)
	epoch := s.State().Epoch
	for _, row := range shunnedRows {
		s.shuns(row)
	}
	s.Until("the silence of a node is known, although what follows from it is left alone", func() bool {
		var nodes api.List[views.Node]
		return s.Ask("nodes", `{"node":"node-5"}`, &nodes) && len(nodes.Items) == 1 && nodes.Items[0].State == projections.NodeSilent
	})
	if state := s.State(); state.Epoch != epoch {
		t.Errorf("epoch %d, want %d: the term ended", state.Epoch, epoch)
	}
	s.shuns(shunnedRow{"failover of service demo/rolls", "service.demo.rolls.unit.shunned", func(s *struck) uint64 {
		s.strike("")
		s.Command("demo/rolls", "ensure", `{"image":"localhost/web:1"}`)
		s.Publish("demo/rolls", "ensure", `{"image":"localhost/web:2","update":{"canaries":1}}`)
		s.Until("its canary waits for its promotion", func() bool {
			var operations api.List[views.ServiceOperation]
			return s.Ask("operations", `{"namespace":"demo","name":"rolls"}`, &operations) && len(operations.Items) == 1 &&
				operations.Items[0].Phase == events.OperationPromote
		})
		s.strike("failover of service demo/rolls")
		s.leader.kill()
		lead()
		return 0
	}})
	s.leader.kill()
	lead() // it tries all of them again
	s.Command("demo/bystander", "scale", scaleBody(1))
	h := readHistory(t, s.Cluster)
	if left := h.cluster.Shunned; len(left) > 0 {
		t.Errorf("another coordinator leads, and these are shunned still: %v", left)
	}
	s.CheckReplay()
}

// shunnedRow is a unit in which the coordinator panics.
type shunnedRow struct {
	unit string
	// told is the subject of the event that says so.
	told string
	// work leads the coordinator to the unit, and returns the command that must fail with it, or 0 for none.
	work func(*struck) uint64
}

var shunnedRows = []shunnedRow{
	{"command of service demo/input", "service.demo.input.command.rejected", func(s *struck) uint64 {
		return s.Publish("demo/input", "ensure", `{"image":"localhost/web:1"}`)
	}},
	{"status of node node-1", "node.node-1.unit.shunned", func(s *struck) uint64 {
		s.StopNode("node-1")
		s.StartNode("node-1")
		return 0
	}},
	{"status of node node-0", "node.node-0.unit.shunned", func(s *struck) uint64 {
		s.lists("node-0")
		return 0
	}},
	{"reconcile of service demo/looked-at", "service.demo.looked-at.unit.shunned", func(s *struck) uint64 {
		return s.Publish("demo/looked-at", "ensure", `{"image":"localhost/web:1"}`)
	}},
	{"due of service demo/works", "service.demo.works.unit.shunned", func(s *struck) uint64 {
		return s.Publish("demo/works", "ensure", `{"image":"localhost/web:1","mode":"job","job":{"completions":1},"node_selector":{"host":"none"}}`)
	}},
	{"reconcile of group demo/stack", "group.demo.stack.unit.shunned", func(s *struck) uint64 {
		return s.group("stack", `{"services":{"one":{"image":"localhost/web:1"}}}`)
	}},
	{"reconcile of service demo/member", "service.demo.member.unit.shunned", func(s *struck) uint64 {
		s.group("of", `{"services":{"member":{"image":"localhost/web:1"}}}`) // it goes back, and fails as aborted
		return 0
	}},
	{"due of group demo/late", "group.demo.late.unit.shunned", func(s *struck) uint64 {
		return s.group("late", `{"services":{"two":{"image":"localhost/web:1","node_selector":{"host":"none"}}}}`)
	}},
	{"reconcile of node node-2", "node.node-2.unit.shunned", func(s *struck) uint64 {
		return s.ask("rookery.cmd.node.node-2.drain", `{}`)
	}},
	{"due of node node-3", "node.node-3.unit.shunned", func(s *struck) uint64 {
		s.StopNode("node-3") // what it has cannot go
		return s.ask("rookery.cmd.node.node-3.drain", `{}`)
	}},
	{"liveness of service demo/everywhere", "service.demo.everywhere.unit.shunned", func(s *struck) uint64 {
		s.StopNode("node-6")
		return 0
	}},
	{"rebalance of cluster", "cluster.unit.shunned", func(s *struck) uint64 {
		s.ask("rookery.cmd.cluster.rebalance", `{}`)
		return 0
	}},
	{"due of cluster", "cluster.unit.shunned", func(*struck) uint64 { return 0 }},
	{"liveness of cluster", "cluster.unit.shunned", func(s *struck) uint64 {
		s.StopNode("node-4")
		return 0
	}},
	{"liveness of node node-5", "node.node-5.unit.shunned", func(s *struck) uint64 {
		s.StopNode("node-5")
		return 0
	}},
}

// shuns makes the coordinator panic in the unit. The coordinator must shun that unit and no other.
func (s *struck) shuns(row shunnedRow) {
	s.t.Helper()
	told, err := s.Bus().Subscribe(events.EventRoot + "." + row.told)
	if err != nil {
		s.t.Fatal(err)
	}
	defer told.Stop()
	s.strike(row.unit)
	ended := row.work(s)
	select {
	case <-told.Messages():
	case <-time.After(30 * time.Second):
		s.t.Fatalf("%s: no event %s came; the coordinator says:\n%s", row.unit, row.told, s.leader.output)
	}
	switch {
	case strings.HasPrefix(row.unit, string(events.WorkStatus)):
		s.strike("") // statuses are taken one by one, and those that follow come from the same node
	case ended == 0 && !strings.HasSuffix(row.unit, " demo/member"): // the others end with their commands
		s.Until("the state names the "+row.unit, func() bool { return strings.Contains(strings.Join(s.State().Shunned, "\n"), row.unit) })
	}
	for _, scale := range []int{3, 2} {
		s.Command("demo/bystander", "scale", scaleBody(scale))
	}
	if ended != 0 {
		f := s.Outcome(ended)
		if f.Reason != events.ReasonInternal && (f.Rejection == nil || f.Rejection.Code != events.CodeInternal) {
			s.t.Errorf("%s: its command ended as %+v, want internal", row.unit, f)
		}
	}
	s.strike("")
	fmt.Printf("panic in %-36s -> %s; all others go on\n", row.unit, row.told)
}

// strike makes the coordinator panic at the unit from here on, or at none if it is "".
func (s *struck) strike(unit string) {
	s.t.Helper()
	fresh := s.file + ".fresh"
	if err := os.WriteFile(fresh, []byte(unit), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(fresh, s.file); err != nil {
		s.t.Fatal(err)
	}
}

// lists publishes a status that the node never sent, and waits until the node lists its instances. Statuses that the node has sent until
// then are lost.
func (s *struck) lists(name string) {
	s.t.Helper()
	lists, err := s.Bus().Subscribe(events.StatusRoot + "." + name + ".list")
	if err != nil {
		s.t.Fatal(err)
	}
	defer lists.Stop()
	said := events.InstanceStatus{Counter: 1, InstanceState: events.InstanceState{
		Namespace: "demo", Name: "none", Generation: 1, Position: events.Position{Epoch: 1, Phase: events.PhaseOnline},
	}}
	m, err := events.Encode(events.InstanceStatusSubject(name, said.ID()), said, events.Attributes{ID: "none", Source: "/test", Time: time.Now()})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.Bus().Publish(s.t.Context(), m); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-lists.Messages():
	case <-time.After(30 * time.Second):
		s.t.Fatalf("%s does not list what it has; the coordinator says:\n%s", name, s.leader.output)
	}
}

func (s *struck) group(name, body string) uint64 {
	return s.ask("rookery.cmd.group.demo."+name+".ensure", body)
}

// ask sends a command by its subject and returns its sequence.
func (s *struck) ask(subject, body string) uint64 {
	s.t.Helper()
	sequence, err := s.Bus().Publish(s.t.Context(), events.Message{Subject: subject, Body: []byte(body)})
	if err != nil {
		s.t.Fatal(err)
	}
	return sequence
}
