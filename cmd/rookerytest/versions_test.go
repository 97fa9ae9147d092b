package rookerytest_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/rookery-project/rookery/coordinator/runner/api"
	"github.com/rookery-project/rookery/coordinator/runner/backup"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

var olderCommit = flag.String("older", "", "upgrade from the program of this `commit` first, which has no levels")

// module is the folder of the module.
const module = "../.."

// edit is a change of one text in a source file of the module.
type edit struct{ file, from, to string }

// newerEdits make the program one of the next level, with which an event and a field of another event come.
var newerEdits = []edit{
	{"events/level.go", "var OwnLevels = Levels{Most: LevelDrainDelay}", "var OwnLevels = Levels{Most: LevelDrainDelay + 1}"},
	{"events/cluster_level.go", "// Kind implements Data.\nfunc (ClusterLevel)", `type ClusterPlanted struct{}

func (ClusterPlanted) Kind() Kind { return v1("cluster", "planted") }

func (ClusterLevel)`},
	{"events/registry.go", "of[ClusterLevel](),", "of[ClusterLevel](), of[ClusterPlanted](),"},
	{"events/node_joined.go", "	Program Program `json:\"program,omitzero\"`", "	Program Program `json:\"program,omitzero\"`\n	Planted bool `json:\"planted,omitzero\"`"},
	{"projections/apply.go", "	case events.ClusterLevel:", "	case events.ClusterPlanted:\n	case events.ClusterLevel:"},
	{"coordinator/node.go", "NodeFacts: h.NodeFacts, Program: program})", `NodeFacts: h.NodeFacts, Program: program, Planted: t.Cluster.Level > events.LevelDrainDelay})
	if t.Cluster.Level > events.LevelDrainDelay {
		t.emit(events.ClusterScope, events.ClusterPlanted{})
	}`},
}

// edited builds the program with these changes of its source, which stand in the folder.
func edited(folder, name string, edits []edit) (string, error) {
	root, err := filepath.Abs(module)
	if err != nil {
		return "", err
	}
	texts := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.file)
		text, read := texts[path]
		if !read {
			source, err := os.ReadFile(path)
			if err != nil {
				return "", err
			}
			text = string(source)
		}
		if strings.Count(text, e.from) != 1 {
			return "", fmt.Errorf("%s does not have once: %s", e.file, e.from)
		}
		texts[path] = strings.Replace(text, e.from, e.to, 1)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for i, path := range slices.Sorted(maps.Keys(texts)) {
		overlay.Replace[path] = filepath.Join(folder, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(overlay.Replace[path], []byte(texts[path]), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(folder+"/overlay.json", text, 0o600)
	}
	if err != nil {
		return "", err
	}
	return compiled(name, "github.com/rookery-project/rookery/cmd/rookery", "-overlay", folder+"/overlay.json")
}

// TestTheNextVersionCompiles builds the program of the next level. The test of versions, which has a minute, then finds its packages compiled.
func TestTheNextVersionCompiles(t *testing.T) {
	t.Parallel()
	if _, err := edited(t.TempDir(), "rookery-next", newerEdits); err != nil {
		t.Fatal(err)
	}
}

// older builds the program of the version before.
func older(t *testing.T) string {
	t.Helper()
	source := t.TempDir()
	archive := exec.CommandContext(t.Context(), "sh", "-c", `git -C "$0" archive "$1" | tar --extract --directory "$2"`, module, *olderCommit, source)
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	path, err := compiled("rookery-older", "./cmd/rookery", "-C", source)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// upgrade is a fleet whose programs are replaced by those of other versions.
type upgrade struct {
	*scene
	// versions names the programs by their paths.
	versions map[string]string
	began    time.Time
	// mixtures are those in which the fleet settled, as rows of a table. exits are processes that ended by themselves, and absent nodes that did
	// not join.
	mixtures, exits, absent []string
	// pids are those of the containers that must stay, by host.
	pids map[string]map[string]int
	// backups is the folder of backups, and program the path of what takes them.
	backups, program string
}

// versionStep is an upgrade from one version to the next, and to its level.
type versionStep struct {
	from, to string
	level    events.Level
	// speaks says that the version before knows what levels are.
	speaks bool
}

// TestVersionsOnPodman upgrades a fleet process by process, takes some of them back, and finishes the upgrade. In between two processes are killed
// and three links broken. Clients send 20 commands a second. Each mixture of versions is backed up, and each backup restored to another bus.
func TestVersionsOnPodman(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	newer := sync.OnceValues(func() (string, error) { return edited(folder, "rookery-newer", newerEdits) })
	building := func() { _, _ = newer() }
	go building() // while the machines are made
	t.Cleanup(building)
	f := newTrial(t)
	present := f.path
	next, err := newer()
	if err != nil {
		t.Fatal(err)
	}
	steps, versions := []versionStep{{present, next, events.LevelDrainDelay + 1, true}}, map[string]string{present: "present", next: "next"}
	if *olderCommit != "" {
		before := older(t)
		steps, versions[before] = append([]versionStep{{before, present, events.LevelDrainDelay, false}}, steps...), "before"
	}
	f.startWith(steps[0].from)
	u := &upgrade{
		scene: &scene{trial: f, host: f.hosts[0], beside: f.hosts[1]}, pids: map[string]map[string]int{},
		backups: filepath.Join(t.TempDir(), "backups"), program: present, versions: versions, began: time.Now(),
	}
	lost, backups, wrong := 0, 0, 0
	defer func() {
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintf(table, "LEADER\tSTANDBY\tNODES\tSETTLED IN\tAFTER\n%s\n", strings.Join(u.mixtures, "\n"))
		_ = table.Flush() // to the standard output
		fmt.Printf("mixed %d, exits %d, not joined %d, lost %d, backups %d, wrongly restored %d\n",
			len(u.mixtures), len(u.exits), len(u.absent), lost, backups, wrong)
	}()
	if why, _ := f.settles(); why != "" {
		t.Fatal(why)
	}
	for _, h := range f.hosts {
		u.pids[h.name] = u.steady(h)
	}
	f.Ensure("load/tiny", `{"image":"localhost/web:1","scale":0}`)
	acknowledged := sendsOn(t, f.Cluster, "load/tiny", 0)
	why := attempt(func() {
		for _, s := range steps {
			if s.speaks {
				u.program = s.from
			}
			u.throughAllMixtures(s)
			u.plantedIs(false)
			if s.to == next { // this program cannot fold what comes with its level
				u.ended(acknowledged())
			}
			u.finishes(s.level)
			u.program = s.to
			u.refuses(s)
			if s.to != next {
				u.settled()
			}
		}
		u.plantedIs(true)
		u.backsUp()
		backups, wrong = u.restores()
	})
	for _, s := range f.commands {
		if outcomes := f.log.history.outcomes[s]; len(outcomes) != 1 {
			lost++
		}
	}
	if why != "" || lost+len(u.exits)+len(u.absent)+wrong > 0 {
		t.Error(why, u.exits, u.absent)
	}
}

// throughAllMixtures replaces one program after the other, standby and leader, then the nodes. One of each goes back in between.
func (u *upgrade) throughAllMixtures(s versionStep) {
	leads, stands := u.leader()
	u.reseat(stands, s.to)
	u.settled()
	u.reseat(leads, s.to)
	u.strikes()
	u.settled()
	u.rejected("works at levels 0-") // nodes are older
	u.reseat(leads, s.from)
	u.renode(u.hosts[0], s.to)
	u.cuts()
	u.settled()
	u.renode(u.hosts[0], s.from)
	u.reseat(leads, s.to)
	u.settled()
	for _, h := range u.hosts {
		u.renode(h, s.to)
	}
	u.settled()
}

// ended waits until the last of these commands is decided.
func (u *upgrade) ended(commands []uint64) {
	u.commands = append(u.commands, commands...)
	last := commands[len(commands)-1]
	u.until("the last command is decided", func() bool {
		return u.log.follow(u.interrupted, u.Bus()) == nil && len(u.log.history.outcomes[last]) > 0
	})
}

// strikes kills the leader and a node, which are started again as they were.
func (u *upgrade) strikes() {
	leads, _ := u.leader()
	leads.process.kill()
	u.hosts[1].node.kill()
	u.startCoordinator(leads)
	u.startNode(u.hosts[1])
}

// cuts breaks links to the bus while clients send commands: a node's is reset, then another's and the leader's are half open until others notice.
func (u *upgrade) cuts() {
	u.resets(u.beside.link)
	leads, _ := u.leader()
	_, u.mark = u.heard.after(0)
	u.silenced(func() { u.heals(u.host.link.halfOpen()) })
	u.heals(leads.link.halfOpen())
	u.takenOver(leads)
	if why := u.heal(); why != "" {
		u.fail("%s", why)
	}
}

// settled sends commands, and waits until each has ended and all is as the log says. No container that runs on may have been replaced.
func (u *upgrade) settled() {
	asked := time.Now()
	u.work()
	if why, _ := u.settles(); why != "" {
		u.fail("%s", why)
	}
	leads, stands := u.leader()
	var nodes []string
	for _, h := range u.hosts {
		nodes = append(nodes, u.versions[h.path])
	}
	u.mixtures = append(u.mixtures, fmt.Sprintf("%s\t%s\t%s\t%.1f s\t%.0f s", u.versions[leads.path], u.versions[stands.path],
		strings.Join(nodes, " "), time.Since(asked).Seconds(), time.Since(u.began).Seconds()))
	u.runOn()
	u.backsUp()
}

// runOn fails if a container was replaced that must run on, and notes processes that have ended.
func (u *upgrade) runOn() {
	u.running()
	for _, h := range u.hosts {
		u.stays(u.pids[h.name], u.processes(h))
	}
}

// backsUp takes a backup.
func (u *upgrade) backsUp() { u.runs("bus", "backup", u.backups, "--server", u.URL) }

// runs runs the program, which must succeed.
func (u *upgrade) runs(args ...string) {
	p := startProgramIn(u.t, u.program, nil, args...)
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		u.fail("%q ends with %d: %s", args, code, p.output)
	}
}

// restores restores each backup to a bus of its own, and counts those after which the bus has another log than the cluster.
func (u *upgrade) restores() (count, wrong int) {
	all, err := backup.List(u.interrupted, backup.Folder(u.backups))
	if err != nil {
		u.fail("%v", err)
	}
	for _, m := range all {
		_, url := startServer(u.t, u.t.TempDir(), anyPort)
		u.runs("bus", "restore", u.backups, "--at", fmt.Sprint(m.Sequence), "--server", url)
		if restored := logTo(u.t, connect(u.t, "restored", url), m.Sequence); restored != logTo(u.t, u.Bus(), m.Sequence) {
			wrong++
		}
	}
	return len(all), wrong
}

// logTo returns the subjects and bodies of the log, up to a sequence.
func logTo(t *testing.T, b *bus.JetStream, sequence uint64) string {
	t.Helper()
	var all strings.Builder
	for m, err := range api.ReadLog(t.Context(), b, 1, sequence) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%d %s %s\n", m.Sequence, m.Subject, m.Body)
	}
	return all.String()
}

// running notes each process that has ended by itself.
func (u *upgrade) running() {
	note := func(name string, p *process) {
		select {
		case <-p.ended:
			u.exits = append(u.exits, name)
		default:
		}
	}
	for _, c := range u.coordinators {
		note(c.name, c.process)
	}
	for _, h := range u.hosts {
		note(h.name, h.node)
	}
}

// reseat replaces the coordinator's program.
func (u *upgrade) reseat(c *seat, path string) {
	u.running()
	c.process.signal(syscall.SIGTERM)
	<-c.process.ended
	c.path = path
	u.startCoordinator(c)
}

// renode replaces the program of the host's node, which must join.
func (u *upgrade) renode(h *station, path string) {
	u.running()
	h.node.signal(syscall.SIGTERM)
	<-h.node.ended
	epoch := u.epochOf(h)
	h.path = path
	u.startNode(h)
	if !u.within(settlesWithin, func() bool { return u.epochOf(h) > epoch }) {
		u.absent = append(u.absent, h.name)
	}
}

func (u *upgrade) epochOf(h *station) uint64 {
	joined, err := u.Bus().Latest(u.interrupted, bus.Log, events.NodeScope(h.name).LogSubject(events.NodeJoined{}.Kind()))
	if err != nil || len(joined) == 0 {
		return 0
	}
	d, _, err := events.DecodeAs[events.NodeJoined](joined[0])
	if err != nil {
		u.fail("%v", err)
	}
	return d.Epoch
}

// askFinish asks for the end of the upgrade, and returns the kind of the outcome with its body.
func (u *upgrade) askFinish() (outcome string, body string) {
	ctx, cancel := context.WithTimeout(u.interrupted, settlesWithin)
	defer cancel()
	sequence, err := u.Bus().Publish(ctx, events.Message{Subject: events.CommandRoot + ".cluster.finish-upgrade", Body: []byte("{}")})
	if err != nil {
		u.fail("%v", err)
	}
	subject := fmt.Sprintf("%s.command.%d.", events.EventRoot, sequence)
	u.until("the end of the upgrade is decided", func() bool {
		all, _ := u.heard.after(0)
		for _, m := range all {
			if end, ours := strings.CutPrefix(m.Subject, subject); ours && end != "accepted" {
				outcome, body = end, string(m.Data)
			}
		}
		return outcome != ""
	})
	return outcome, body
}

func (u *upgrade) rejected(with string) {
	if outcome, body := u.askFinish(); outcome != "rejected" || !strings.Contains(body, with) {
		u.fail("the upgrade is finished beside older nodes: %s %s", outcome, body)
	}
}

// finishes finishes the upgrade, once the leader has heard all nodes.
func (u *upgrade) finishes(level events.Level) {
	u.until("the upgrade is finished", func() bool {
		outcome, _ := u.askFinish()
		return outcome == "succeeded"
	})
	raised, err := u.Bus().Latest(u.interrupted, bus.Log, events.ClusterScope.LogSubject(events.ClusterLevel{}.Kind()))
	if err != nil || len(raised) != 1 || string(raised[0].Body) != fmt.Sprintf(`{"level":%d}`, level) {
		u.fail("the level in the log is %v, %v", raised, err)
	}
}

// refuses starts older programs in a cluster at a higher level: they do nothing, and do not end. A coordinator from before there were levels ends:
// it cannot know what it reads.
func (u *upgrade) refuses(s versionStep) {
	c, h := u.coordinators[0], u.hosts[0]
	u.renode(h, s.from)
	u.until("the older node is shown as degraded", func() bool {
		var n views.Node
		return u.view(bus.BucketNodes, h.name, &n) && n.State == projections.NodeDegraded && strings.HasPrefix(n.Degraded, "upgrade it")
	})
	if s.speaks {
		u.waits(c, s.from)
	}
	u.reseat(c, s.to)
	u.renode(h, s.to)
	u.runOn()
}

// waits starts an older coordinator, which says that it waits, and does not end.
func (u *upgrade) waits(c *seat, path string) {
	u.reseat(c, path)
	u.until(c.name+" waits for its upgrade", func() bool {
		return strings.Contains(c.process.output.String(), "waiting to be replaced by another version")
	})
	u.running()
}

func (u *upgrade) view(bucket, key string, into any) bool {
	b, err := u.Bus().Bucket(u.interrupted, bucket)
	if err != nil {
		return false
	}
	e, err := b.Get(u.interrupted, key)
	return err == nil && json.Unmarshal(e.Value, into) == nil
}

// plantedIs holds the log to have what came with the next level, or not to have it.
func (u *upgrade) plantedIs(want bool) {
	planted, err := u.Bus().Latest(u.interrupted, bus.Log, events.LogRoot+".cluster.planted")
	if err != nil || (len(planted) > 0) != want {
		u.fail("of the planted event the log has %v, %v", planted, err)
	}
	joined, err := u.Bus().Latest(u.interrupted, bus.Log, events.NodeScope(u.hosts[0].name).LogSubject(events.NodeJoined{}.Kind()))
	if err != nil || len(joined) != 1 {
		u.fail("the node has not joined: %v", err)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(joined[0].Body, &members); err != nil {
		u.fail("%v", err)
	}
	if _, has := members["planted"]; has != want {
		u.fail("the node joined with %s", joined[0].Body)
	}
}
