package rookerytest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/node/podman/podmantest"
	"github.com/rookery-project/rookery/projections"
)

// audited is the Podman of a node. An audit reads it with the podman command, without any part of Rookery.
type audited struct {
	node   string
	podman func(args ...string) ([]byte, error)
}

// audited returns the Podmans of all hosts.
func (r *region) audited() []audited {
	all := make([]audited, len(r.hosts))
	for i, h := range r.hosts {
		all[i] = audited{h.name, h.podman}
	}
	return all
}

func (r *realNode) audited() audited {
	return audited{r.owner.Node, func(args ...string) ([]byte, error) {
		out, err := r.podman(args...)
		return []byte(out), err
	}}
}

// findings are the differences between the Podmans and the log, a line each, in order.
type findings struct {
	// orphans are containers on a node for which the log has no instance there. duplicates are slots with more living containers than the
	// log has instances. leftovers are containers that belong to no instance and serve none. missing are instances that the log has as
	// started and that have no living container.
	orphans, duplicates, leftovers, missing []string
}

func (f *findings) clean() bool {
	return len(f.orphans)+len(f.duplicates)+len(f.leftovers)+len(f.missing) == 0
}

func (f *findings) String() string {
	return fmt.Sprintf("orphans %d %q, duplicates %d %q, leftovers %d %q, missing %d %q", len(f.orphans), f.orphans,
		len(f.duplicates), f.duplicates, len(f.leftovers), f.leftovers, len(f.missing), f.missing)
}

// untilClean waits until an audit finds nothing, and fails the test with what it found last.
func untilClean(t testing.TB, cluster *rookerytest.Cluster, all ...audited) {
	t.Helper()
	var last findings
	defer func() {
		if !last.clean() {
			t.Errorf("the last audit found %s", &last)
		}
	}()
	cluster.Until("an audit of labels finds nothing", func() bool {
		last = audit(t, cluster, all...)
		return last.clean()
	})
}

// audit compares everything that the Podmans have of the cluster with the log, folded from its first message. Run it at rest, because work
// under way makes both differ for a moment.
func audit(t testing.TB, cluster *rookerytest.Cluster, all ...audited) findings {
	t.Helper()
	return auditBeside(t, cluster.Replay(func([]events.Record) {}), all...)
}

// auditBeside is audit for a caller that has folded the log.
func auditBeside(t testing.TB, log *projections.Cluster, all ...audited) findings {
	t.Helper()
	a := newAuditor(t, log)
	for _, p := range all {
		a.podman(p)
	}
	return a.compare()
}

func newAuditor(t testing.TB, log *projections.Cluster) *auditor {
	return &auditor{t: t, log: log, live: map[string][]string{}, has: map[placed]bool{}}
}

// podman reads everything that the Podman of a node has.
func (a *auditor) podman(p audited) {
	a.t.Helper()
	a.containers(p)
	a.volumes(p)
	a.secrets(p)
}

// engine reads what the simulated engine of a node has.
func (a *auditor) engine(name string, all []node.Container) {
	for _, c := range all {
		what := fmt.Sprintf("container of %s on %s", c.Instance, name)
		if i := a.log.Instance(c.Instance); i == nil || i.Node != name {
			a.orphans = append(a.orphans, what)
		}
		if c.State == node.Running {
			a.lives(c.Instance, name, what)
		}
	}
}

// lives notes the main container of an instance, which has a process.
func (a *auditor) lives(id events.InstanceID, on, what string) {
	slot := fmt.Sprintf("%s/%d", id.Service, id.Ordinal)
	a.live[slot] = append(a.live[slot], what)
	a.has[placed{id, on}] = true
}

// placed is an instance on a node.
type placed struct {
	instance events.InstanceID
	node     string
}

type auditor struct {
	findings
	t   testing.TB
	log *projections.Cluster
	// live are the main containers that live, by slot; has are the instances that have one.
	live map[string][]string
	has  map[placed]bool
}

// auditedContainer is a container as Podman's own command lists it.
type auditedContainer struct {
	ID     string `json:"Id"`
	Names  []string
	State  string
	Labels map[string]string
}

func (a *auditor) containers(p audited) {
	a.t.Helper()
	var all []auditedContainer
	a.ask(p, &all, "ps", "--all", "--external", "--no-trunc", "--format", "json")
	named := map[string]bool{}
	for _, c := range all {
		for _, name := range strings.Split(c.Labels[events.ReservedLabel+"sidecars"], ",") {
			named[name] = true
		}
	}
	for _, c := range all {
		a.container(p, c, named)
	}
}

func (a *auditor) container(p audited, c auditedContainer, sidecars map[string]bool) {
	name := strings.Join(c.Names, ",")
	what := fmt.Sprintf("container %s (%s, %.12s) on %s", name, c.State, c.ID, p.node)
	if c.Labels[node.LabelCluster] == "" && strings.HasPrefix(name, "rookery.") && c.State != "running" && c.State != "exited" {
		a.leftovers = append(a.leftovers, what+" is the rest of one that was never made whole")
		return
	}
	if c.Labels[node.LabelCluster] != a.log.LogID() {
		return // foreign
	}
	parsed, err := node.ParseLabels(c.Labels)
	switch {
	case c.Labels[node.LabelFills] != "":
		a.leftovers = append(a.leftovers, what+" was made to fill a volume")
		return
	case err != nil:
		a.leftovers = append(a.leftovers, what+" has labels that do not read: "+err.Error())
		return
	}
	i := a.log.Instance(parsed.Instance)
	switch {
	case c.Labels[node.LabelNode] != p.node || i == nil || i.Node != p.node:
		a.orphans = append(a.orphans, what+" is of "+parsed.Instance.String())
	case parsed.Role == node.RoleSidecar && !sidecars[name]:
		a.leftovers = append(a.leftovers, what+" is a sidecar of no container")
	}
	if parsed.Role == node.RoleSidecar || !lives(c.State) {
		return
	}
	a.lives(parsed.Instance, p.node, what)
}

// lives reports whether a container in this state of Podman's has a process.
func lives(state string) bool {
	return state == "running" || state == "paused" || state == "stopping"
}

func (a *auditor) volumes(p audited) {
	a.t.Helper()
	var all, unused []struct {
		Name      string
		Labels    map[string]string
		Anonymous bool
	}
	a.ask(p, &all, "volume", "ls", "--format", "json")
	a.ask(p, &unused, "volume", "ls", "--filter", "dangling=true", "--format", "json")
	for _, v := range all {
		if v.Labels[node.LabelCluster] == a.log.LogID() && v.Labels[node.LabelFills] != "" {
			a.leftovers = append(a.leftovers, "volume "+v.Name+" on "+p.node+" marks "+v.Labels[node.LabelFills]+" as filled in part")
		}
	}
	// Those with a name are the slots' own, and stay with what they hold.
	for _, v := range unused {
		if v.Anonymous {
			a.leftovers = append(a.leftovers, "volume "+v.Name+" on "+p.node+" belonged to a container that is gone")
		}
	}
}

// secrets finds the secrets of configs. They exist only while the node makes a container.
func (a *auditor) secrets(p audited) {
	a.t.Helper()
	out, err := p.podman("secret", "ls", "--format", "{{.Name}}")
	if err != nil {
		a.t.Fatalf("podman secret ls on %s: %v: %s", p.node, err, out)
	}
	for _, name := range strings.Fields(string(out)) {
		if strings.HasPrefix(name, "rookery.") {
			a.leftovers = append(a.leftovers, "secret "+name+" on "+p.node+" was for a container that is made")
		}
	}
}

// compare compares what was read with the instances of the log, and returns the differences.
func (a *auditor) compare() findings {
	want := map[string]int{}
	for _, s := range a.log.Services {
		for i := range s.Instances() {
			want[fmt.Sprintf("%s/%d", i.ID.Service, i.ID.Ordinal)]++
			serves := i.Seen.Phase == events.PhaseStarted || i.Seen.Phase == events.PhaseOnline
			if serves && !a.has[placed{i.ID, i.Node}] {
				a.missing = append(a.missing, i.ID.String()+" is "+i.Seen.Phase.String()+" on "+i.Node+" by the log alone")
			}
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(a.live)) {
		if found := a.live[slot]; len(found) > max(want[slot], 1) {
			a.duplicates = append(a.duplicates, slot+" has "+strings.Join(found, " and "))
		}
	}
	for _, found := range []*[]string{&a.orphans, &a.duplicates, &a.leftovers, &a.missing} {
		slices.Sort(*found)
	}
	return a.findings
}

// ask makes Podman print JSON.
func (a *auditor) ask(p audited, into any, args ...string) {
	a.t.Helper()
	out, err := p.podman(args...)
	if err != nil {
		a.t.Fatalf("podman %s on %s: %v: %s", strings.Join(args, " "), p.node, err, out)
	}
	if err := json.Unmarshal(out, into); err != nil {
		a.t.Fatalf("podman %s on %s: %v: %s", strings.Join(args, " "), p.node, err, out)
	}
}

// TestAuditFindsWhatIsPlantedOnPodman uses the podman command to plant what an audit must find. The process of the node is stopped
// meanwhile, so that it cannot repair anything.
func TestAuditFindsWhatIsPlantedOnPodman(t *testing.T) {
	t.Parallel()
	r := startReal(t)
	r.Ensure("demo/web", `{"image":"`+podmantest.WebReference+`","scale":2,"stop_grace":"2s","ports":[{"name":"http","port":8080}]}`)
	untilClean(t, r.Cluster, r.audited())
	r.node.kill()
	plant := func(name string, labels map[string]string) {
		t.Helper()
		args := []string{"run", "--detach", "--name", name, "--network", "none"}
		for _, label := range slices.Sorted(maps.Keys(labels)) {
			args = append(args, "--label", label+"="+labels[label])
		}
		if out, err := r.podman(append(args, podmantest.WebReference)...); err != nil {
			t.Fatalf("podman run: %v: %s", err, out)
		}
	}
	ours := func(ordinal, generation string) map[string]string {
		return map[string]string{
			node.LabelCluster: r.owner.Cluster, node.LabelNode: r.owner.Node, node.LabelNamespace: "demo", node.LabelService: "web",
			node.LabelOrdinal: ordinal, node.LabelGeneration: generation, node.LabelAttempt: "0", node.LabelRevision: "1",
		}
	}
	plant("foreign", map[string]string{node.LabelCluster: "another", node.LabelNode: r.owner.Node})
	plant("orphan", ours("7", "1"))
	plant("twin", ours("0", "1"))
	plant("unread", map[string]string{node.LabelCluster: r.owner.Cluster, node.LabelNode: r.owner.Node})
	for _, args := range [][]string{
		{"volume", "create", "--label", node.LabelCluster + "=" + r.owner.Cluster, "--label", node.LabelFills + "=x", "mark"},
		{"volume", "create", "--label", node.LabelCluster + "=" + r.owner.Cluster, "data"},
		{"secret", "create", "rookery.x.y.z.0", "/etc/hostname"},
		{"stop", "--time", "0", "rookery." + r.owner.Cluster[:12] + ".demo.web.1.1"},
	} {
		if out, err := r.podman(args...); err != nil {
			t.Fatalf("podman %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	found := audit(t, r.Cluster, r.audited())
	if len(found.orphans) != 1 || len(found.duplicates) != 1 || len(found.leftovers) != 3 || len(found.missing) != 1 {
		t.Errorf("the audit found %s, want 1 orphan, 1 duplicate, 3 leftovers and 1 missing", &found)
	}
	for _, name := range []string{"twin", "unread"} {
		if out, err := r.podman("rm", "--force", "--time", "0", name); err != nil {
			t.Fatalf("podman rm: %v: %s", err, out)
		}
	}
	for _, args := range [][]string{{"volume", "rm", "mark"}, {"secret", "rm", "rookery.x.y.z.0"}} {
		if out, err := r.podman(args...); err != nil {
			t.Fatalf("podman %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	r.startNode() // it reports the orphan, has it stopped, and starts what was stopped
	untilClean(t, r.Cluster, r.audited())
	if out, err := r.podman("container", "exists", "foreign"); err != nil {
		t.Errorf("the foreign container is gone: %v: %s", err, out)
	}
}
