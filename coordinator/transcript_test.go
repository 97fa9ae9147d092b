package coordinator_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// TestTranscripts replays testdata/*.txt: the inputs, and the events with which each round answers. To rewrite them, run go
// test ./coordinator -rewrite, and review the difference as a change of the rules.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		h := newHouse(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			h.t = t
			return h.do(d)
		})
	})
}

// house is a cluster that gets the inputs of a transcript, one input a round.
type house struct {
	t       *testing.T
	cluster *projections.Cluster
	work    *coordinator.WorkQueue
	now     time.Time
	input   uint64                       // the sequence of the last input
	rounds  []func(*projections.Cluster) // all so far, to build an equal state
	decided []events.Record              // in the last round
	// room and units are how many events, and events of how many units, Look has room for in a round; 0 for the usual number.
	room, units int
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, cluster: begun(), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	h.work = coordinator.NewWorkQueue(h.cluster)
	h.round(func(turn *coordinator.Turn) { turn.Found(adoption("1"), 0) })
	return h
}

// begun returns the state of a log that began before the first round set a policy: transcripts do not spread instances unless
// they ask for it.
func begun() *projections.Cluster {
	c := projections.NewCluster()
	c.Round = 1
	return c
}

func adoption(generation string) events.ClusterAdopted {
	return events.ClusterAdopted{Streams: map[string]string{
		"ROOKERY_LOG": "log-1", "ROOKERY_COMMANDS": "commands-" + generation, "ROOKERY_STATUS": "status-1", "ROOKERY_ORDERS": "orders-1",
	}}
}

// do runs one step of the transcript.
func (h *house) do(d *datadriven.TestData) string {
	switch d.Cmd {
	case "hello":
		return h.hello(d)
	case "command":
		return h.command(d)
	case "status":
		return h.status(d)
	case "answer":
		return h.answer(d)
	case "list":
		return h.list(d)
	case "settle":
		return h.settle()
	case "silent":
		return h.round(func(turn *coordinator.Turn) { turn.Silent(d.CmdArgs[0].Key) })
	case "returned":
		return h.round(func(turn *coordinator.Turn) { turn.Returned(d.CmdArgs[0].Key) })
	case "engine":
		return h.engine(d)
	case "adopt":
		return h.round(func(turn *coordinator.Turn) { turn.Found(adoption(d.CmdArgs[0].Key), 0) })
	case "accounts": // are on, in a cluster of this level
		h.cluster.Accounts, h.cluster.Level = true, events.Level(h.number(d, "level", uint64(events.OwnLevels.Most)))
		return "on\n"
	case "pass":
		h.pass(d)
		return h.round((*coordinator.Turn).Due)
	case "takeover": // of all operations, after that long without a leader
		h.pass(d)
		h.work = coordinator.NewWorkQueue(h.cluster)
		return h.round(func(turn *coordinator.Turn) {
			for _, id := range slices.SortedFunc(maps.Keys(h.cluster.Operating()), events.ServiceID.Compare) {
				turn.TakenOver(id)
			}
			turn.Due()
		})
	case "look":
		return h.round(func(*coordinator.Turn) {})
	case "plan":
		return h.plan(d)
	case "order":
		return h.order(d)
	case "restore":
		return h.restore(d)
	case "loop":
		return h.loop(d)
	case "reserved":
		return fmt.Sprintf("%+v\n", h.cluster.Nodes[d.CmdArgs[0].Key].Reserved())
	case "why":
		id, err := events.ParseServiceID(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(h.t, "%v", err)
		}
		return h.cluster.WhyPending(h.cluster.Services[id]) + "\n"
	}
	d.Fatalf(h.t, "no such step: %s", d.Cmd)
	return ""
}

func (h *house) pass(d *datadriven.TestData) {
	passed, err := time.ParseDuration(d.CmdArgs[0].Key)
	if err != nil {
		d.Fatalf(h.t, "%v", err)
	}
	h.now = h.now.Add(passed)
}

// round decides one round and returns its events as text. Another Look must yield nothing.
func (h *house) round(input func(*coordinator.Turn)) string {
	h.t.Helper()
	turn := coordinator.NewTurn(h.cluster, h.work, h.now)
	input(turn)
	h.look(turn)
	recovering := h.cluster.Recovering
	told := tell(turn.Records)
	h.decided = slices.Clone(turn.Records)
	records, closed := h.decided, events.RoundClosed{Round: h.cluster.Round + 1, Epoch: 1, Leader: "test", Now: h.now}
	take := func(c *projections.Cluster) { c.Close(c.Sequence+uint64(len(records))+1, closed, events.Chain{}) }
	take(h.cluster)
	h.rounds = append(h.rounds, func(c *projections.Cluster) {
		for _, r := range records {
			if err := c.Apply(r); err != nil {
				h.t.Fatal(err)
			}
		}
		take(c)
	})
	if recovering {
		return told // the end of a recovery is a change: the next round reconciles
	}
	if (h.room > 0 || h.units > 0) && h.work.Waits(h.cluster) {
		if len(records) == 0 {
			h.t.Fatalf("a round has no room for the next step")
		}
		return told + h.round(func(*coordinator.Turn) {})
	}
	again := coordinator.NewTurn(h.cluster, coordinator.NewWorkQueue(h.cluster), h.now)
	again.Look()
	if len(again.Records) > 0 {
		h.t.Fatalf("another Look without a change yields\n%s", tell(again.Records))
	}
	return told
}

// look calls Look within the bounds of a round.
func (h *house) look(turn *coordinator.Turn) {
	h.t.Helper()
	records, units := len(turn.Records), turn.Units()
	if h.room > 0 {
		turn.Bound(h.room)
	}
	if h.units > 0 {
		turn.MaxUnits = units + h.units
	}
	turn.Look()
	if h.room > 0 && len(turn.Records) > records+h.room {
		h.t.Errorf("a look with room for %d events led to %d", h.room, len(turn.Records)-records)
	}
	if h.units > 0 && turn.Units() > units+h.units {
		h.t.Errorf("a look at %d units led to events of %d", h.units, turn.Units()-units)
	}
}

// tell writes the events, one a line.
func tell(records []events.Record) string {
	if len(records) == 0 {
		return "nothing\n"
	}
	var b strings.Builder
	for _, r := range records {
		body, err := json.Marshal(r.Data, json.Deterministic(true))
		if err != nil {
			panic(err)
		}
		subject := strings.TrimPrefix(r.Scope.LogSubject(r.Data.Kind()), events.LogRoot+".")
		b.WriteString(strings.TrimSuffix(subject+" "+string(body), " {}"))
		if r.Cause.Correlation != 0 {
			fmt.Fprintf(&b, " (for command %d)", r.Cause.Correlation)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// argument returns the value of a named argument, or otherwise.
func argument(d *datadriven.TestData, name, otherwise string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return otherwise
}

func (h *house) number(d *datadriven.TestData, name string, otherwise uint64) uint64 {
	n, err := strconv.ParseUint(argument(d, name, strconv.FormatUint(otherwise, 10)), 10, 64)
	if err != nil {
		d.Fatalf(h.t, "%v", err)
	}
	return n
}

// hello <node> incarnation=a [first=20000 last=20999 zone=z cpu=4 gib=8 disk-gib=8 label=disk:ssd default-cpu=1 default-gib=1].
func (h *house) hello(d *datadriven.TestData) string {
	program := events.Program{}
	if h.cluster.Level > 0 {
		program.Levels = events.OwnLevels
	}
	return h.statusOf(events.Status{Node: d.CmdArgs[0].Key, Program: program, Hello: &events.Hello{
		Incarnation: argument(d, "incarnation", "a"),
		NodeFacts: events.NodeFacts{
			Address: "10.0.0.1", EngineFacts: events.EngineFacts{Engine: "test"}, Zone: argument(d, "zone", ""), Labels: labels(argument(d, "label", "")),
			Capacity: events.Capacity{CPU: float64(h.number(d, "cpu", 0)), Memory: h.number(d, "gib", 0) << 30, Disk: h.number(d, "disk-gib", 0) << 30},
			Default: events.Resources{
				CPU: events.CPU(h.number(d, "default-cpu", 0)) * events.Core, Memory: events.Size(h.number(d, "default-gib", 0)) << 30,
			},
			Ports:  events.PortRange{First: uint16(h.number(d, "first", 20_000)), Last: uint16(h.number(d, "last", 20_999))},
			Allows: h.allows(d),
		},
	}})
}

// allows reads allow-port=443 and allow-engine.
func (h *house) allows(d *datadriven.TestData) events.NodeAllows {
	allows := events.NodeAllows{EngineContext: d.HasArg("allow-engine")}
	if port := uint16(h.number(d, "allow-port", 0)); port > 0 {
		allows.HostPorts = []events.PortRange{{First: port, Last: port}}
	}
	return allows
}

// labels reads one label as name:value.
func labels(text string) map[string]string {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return nil
	}
	return map[string]string{name: value}
}

// subject returns where a command is published: to a service as namespace/name, to a group as group/namespace/name, to a node
// by its name, or to the cluster.
func subject(whom, verb string) string {
	switch group, grouped := strings.CutPrefix(whom, "group/"); {
	case grouped:
		return events.CommandRoot + ".group." + strings.ReplaceAll(group, "/", ".") + "." + verb
	case strings.Contains(whom, "/"):
		return events.CommandRoot + ".service." + strings.ReplaceAll(whom, "/", ".") + "." + verb
	case whom == "cluster":
		return events.CommandRoot + ".cluster." + verb
	}
	return events.CommandRoot + ".node." + whom + "." + verb
}

// command <namespace/name|group/namespace/name|node|cluster> <verb> [sequence=n] [id=x] [by=user], with the body below.
func (h *house) command(d *datadriven.TestData) string {
	h.input = h.number(d, "sequence", h.input+1)
	subject := subject(d.CmdArgs[0].Key, d.CmdArgs[1].Key)
	if user := argument(d, "by", ""); user != "" {
		subject = events.CommandBy(user, subject)
	}
	m := events.Message{Subject: subject, Sequence: h.input, Body: []byte(d.Input), Header: events.Header{}}
	if id := argument(d, "id", ""); id != "" {
		m.Header = events.Header{
			"ce-specversion": {"1.0"}, "ce-id": {id}, "ce-source": {"/test"}, "ce-type": {"io.rookery.service.v1." + d.CmdArgs[1].Key},
		}
	}
	return h.round(func(turn *coordinator.Turn) { turn.Command(events.ParseRequest(m)) })
}

// tellDrain writes a plan, one instance a line.
func tellDrain(p coordinator.DrainPlan) string {
	if p.Rejection != nil {
		return fmt.Sprintf("%s: %s\n", p.Rejection.Code, p.Rejection.Reason)
	}
	told := fmt.Sprintf("%d instances\n", len(p.Instances))
	for _, i := range p.Instances {
		told += fmt.Sprintf("%s/%d %s to %q at deadline %t (%s)\n", i.Service, i.Ordinal, i.Action, i.To, i.AtDeadline, i.Reason)
	}
	return told
}

// plan <namespace/name|node> <verb>, with the body below, shows what the command would do.
func (h *house) plan(d *datadriven.TestData) string {
	same := begun()
	for _, round := range h.rounds {
		round(same)
	}
	asked := events.ParseRequest(events.Message{Subject: subject(d.CmdArgs[0].Key, d.CmdArgs[1].Key), Body: []byte(d.Input)})
	if _, ok := asked.Command.(events.NodeDrain); ok {
		return tellDrain(coordinator.PlanDrain(same, asked, h.now))
	}
	p := coordinator.PlanCommand(same, asked, h.now)
	if p.Rejection != nil {
		return fmt.Sprintf("%s: %s\n", p.Rejection.Code, p.Rejection.Reason)
	}
	told := fmt.Sprintf("revision %d, scale %d, waves %d\n", p.Revision, p.Scale, p.Waves)
	for _, slot := range p.Slots {
		told += fmt.Sprintf("%d %s %s>%s wave %d %s (%s)\n", slot.Ordinal, slot.Action, slot.From, slot.To, slot.Wave, slot.Order, slot.Reason)
	}
	return told
}

func (h *house) statusOf(s events.Status) string {
	return h.round(func(turn *coordinator.Turn) { turn.Status(1, s) })
}

// status <node> <namespace/name.ordinal.generation> <phase> [epoch=1 attempt=0 reason=exited exit=3 no-restart=attempts output
// image=web@sha256:1]. image is what the image of the service's spec stood for. output says that the container's last output is
// kept.
func (h *house) status(d *datadriven.TestData) string {
	s := h.state(d, d.CmdArgs[1].Key, d.CmdArgs[2].Key)
	s.Reason = events.OfflineReason(argument(d, "reason", ""))
	s.Attempt = uint32(h.number(d, "attempt", 0))
	if image := argument(d, "image", ""); image != "" {
		s.Images = map[string]string{h.cluster.Services[s.ID().Service].Current().Spec.Image: image}
	}
	s.NoRestart = events.NoRestart(argument(d, "no-restart", ""))
	if d.HasArg("output") {
		s.Output = events.OutputKey(s.ID(), s.Attempt)
	}
	if d.HasArg("exit") {
		code := int32(h.number(d, "exit", 0))
		s.ExitCode = &code
	}
	return h.statusOf(events.Status{Node: d.CmdArgs[0].Key, Instance: &events.InstanceStatus{InstanceState: s}})
}

// answer <namespace/name> <ordinal> [refused=text attempt=n] reports how the slot's instance has answered what it was asked.
func (h *house) answer(d *datadriven.TestData) string {
	id, err := events.ParseServiceID(d.CmdArgs[0].Key)
	ordinal, ordinalErr := strconv.Atoi(d.CmdArgs[1].Key)
	if err := errors.Join(err, ordinalErr); err != nil {
		d.Fatalf(h.t, "%v", err)
	}
	s := h.cluster.Services[id]
	i := s.Slots[ordinal].Current
	var asked events.Confirmation
	switch a := s.AskOf(i); {
	case a != nil:
		asked = a.Confirmed()
	case s.Topology != nil && s.Topology.Change != nil:
		asked = s.Topology.Change.Confirmed()
	default:
		return "nothing is asked\n"
	}
	exports := h.exports(i, asked.Phase, argument(d, "digest", "00"))
	if d.HasArg("empty") {
		exports = nil
	}
	position := i.Seen
	if d.HasArg("anew") {
		position.Attempt++
	}
	return h.statusOf(events.Status{Node: i.Node, Instance: &events.InstanceStatus{InstanceState: events.InstanceState{
		Namespace: id.Namespace, Name: id.Name, Ordinal: i.ID.Ordinal, Generation: i.ID.Generation, Position: position,
		Confirmed: &events.Confirmation{
			Operation: asked.Operation, Attempt: uint32(h.number(d, "attempt", uint64(asked.Attempt))), Phase: asked.Phase,
			Refused: argument(d, "refused", ""),
		},
		Exports: exports,
	}}})
}

// exports returns the content of the instance's volumes with state; all have the same content.
func (h *house) exports(i *projections.Instance, phase events.OperationPhase, digest string) []events.Export {
	var exports []events.Export
	for _, v := range h.cluster.Services[i.ID.Service].Revisions[i.Revision].Spec.StateVolumes() {
		if phase == events.OperationExport {
			exports = append(exports, events.Export{Volume: v.Name, Digest: digest, Size: 10})
		}
	}
	return exports
}

func (h *house) state(d *datadriven.TestData, instance, phase string) events.InstanceState {
	parts := strings.Split(instance, ".")
	id, err := events.ParseServiceID(parts[0])
	ordinal, ordinalErr := strconv.Atoi(parts[1])
	generation, generationErr := strconv.Atoi(parts[2])
	s := events.InstanceState{
		Namespace: id.Namespace, Name: id.Name, Ordinal: uint32(ordinal), Generation: uint32(generation), Revision: 1,
	}
	if err := errors.Join(err, ordinalErr, generationErr, s.Phase.UnmarshalText([]byte(phase))); err != nil {
		d.Fatalf(h.t, "%v", err)
	}
	s.Epoch = h.number(d, "epoch", 1)
	return s
}

// engine <node> counter=n [epoch=1], with the engine's defect below, or nothing.
func (h *house) engine(d *datadriven.TestData) string {
	return h.statusOf(events.Status{Node: d.CmdArgs[0].Key, Engine: &events.EngineStatus{
		Counter: h.number(d, "counter", 1), Epoch: h.number(d, "epoch", 1), Degraded: strings.TrimSpace(d.Input),
	}})
}

// order <namespace/name.ordinal.generation> shows what the images in the order stand for.
func (h *house) order(d *datadriven.TestData) string {
	s := h.state(d, d.CmdArgs[0].Key, "placed")
	return fmt.Sprintf("%v\n", h.cluster.Order(h.cluster.Instance(s.ID())).Images)
}

// loop <namespace/name> <ordinal> shows what operators see about how the slot's instances end.
func (h *house) loop(d *datadriven.TestData) string {
	id, err := events.ParseServiceID(d.CmdArgs[0].Key)
	ordinal, ordinalErr := strconv.ParseUint(d.CmdArgs[1].Key, 10, 32)
	if err := errors.Join(err, ordinalErr); err != nil {
		d.Fatalf(h.t, "%v", err)
	}
	s := h.cluster.Services[id]
	loop := s.CrashLoop(uint32(ordinal), s.Target(uint32(ordinal)))
	if loop == "" {
		loop = "no crash loop"
	}
	return fmt.Sprintf("%s; restarts %d\n", loop, s.Slots[ordinal].Restarts)
}

// restore <namespace/name.ordinal.generation> shows what the order puts into the volumes, and from which state it tells the
// instance to come.
func (h *house) restore(d *datadriven.TestData) string {
	s := h.state(d, d.CmdArgs[0].Key, "placed")
	i := h.cluster.Instance(s.ID())
	if i == nil {
		return "there is no such instance\n"
	}
	o := h.cluster.Order(i)
	told := "nothing\n"
	if o.Restore != nil {
		told = fmt.Sprintf("%+v\n", *o.Restore)
	}
	if o.Topology != nil {
		told += fmt.Sprintf("told: config version %d of %d, snapshot %d\n", o.Topology.ConfigVersion, o.Topology.Scale, o.Topology.Snapshot)
	}
	return told
}

// list <node> [epoch=1] [more], with one instance and its phase a line below. More says that another list follows.
func (h *house) list(d *datadriven.TestData) string {
	list := events.InstanceList{Epoch: h.number(d, "epoch", 1), Last: !d.HasArg("more")}
	for line := range strings.Lines(d.Input) {
		fields := strings.Fields(line)
		list.Instances = append(list.Instances, h.state(d, fields[0], fields[1]))
	}
	return h.statusOf(events.Status{Node: d.CmdArgs[0].Key, List: &list})
}

// settle lets every node carry out its orders, instance by instance, and lets the time pass for which operations wait, until
// nothing more follows.
func (h *house) settle() string {
	var told strings.Builder
	for {
		next := h.undone()
		if next == nil && (len(h.cluster.Operating()) > 0 || h.drains() || h.unproven()) {
			h.now = h.now.Add(time.Duration(events.DefaultMinHealthy))
			if follows := h.round((*coordinator.Turn).Due); follows != "nothing\n" {
				told.WriteString(follows)
				continue
			}
		}
		if next == nil {
			return told.String()
		}
		phase, attempt := events.PhaseOnline, next.Seen.Attempt
		var confirmed *events.Confirmation
		var exports []events.Export
		if asked := h.cluster.Services[next.ID.Service].Asked(next); asked != nil && next.Seen.Phase == events.PhaseOnline {
			confirmed = &events.Confirmation{Operation: asked.Operation, Attempt: asked.Attempt, Phase: asked.Phase}
			exports = h.exports(next, asked.Phase, "00")
		}
		if next.Seen.Phase == events.PhaseOffline {
			attempt++
		}
		if next.Retired() != "" {
			phase = events.PhaseRemoved
		}
		told.WriteString(h.statusOf(events.Status{Node: next.Node, Instance: &events.InstanceStatus{InstanceState: events.InstanceState{
			Namespace: next.ID.Service.Namespace, Name: next.ID.Service.Name, Ordinal: next.ID.Ordinal, Generation: next.ID.Generation,
			Position:  events.Position{Epoch: h.cluster.Nodes[next.Node].Epoch, Attempt: attempt, Phase: phase},
			Confirmed: confirmed, Exports: exports,
		}}}))
	}
}

// unproven reports whether a service must serve for longer before it counts.
func (h *house) unproven() bool {
	for _, s := range h.cluster.Services {
		if s.Settled() && !s.Proven(h.now) {
			return true
		}
	}
	return false
}

// drains reports whether a node is being drained.
func (h *house) drains() bool {
	for _, n := range h.cluster.Nodes {
		if n.Draining() && !n.Drain.Done {
			return true
		}
	}
	return false
}

func (h *house) undone() *projections.Instance {
	for _, id := range slices.SortedFunc(maps.Keys(h.cluster.Services), events.ServiceID.Compare) {
		s := h.cluster.Services[id]
		for i := range s.Instances() {
			if !h.cluster.Nodes[i.Node].Silent && (i.Retired() != "" || i.Seen.Phase != events.PhaseOnline || s.Asked(i) != nil) {
				return i
			}
		}
	}
	return nil
}
