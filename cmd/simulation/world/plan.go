package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Kind is what an action does.
type Kind string

// The kinds of actions: commands of clients, and faults.
const (
	Command Kind = "command"
	Ask     Kind = "ask"
	Config  Kind = "config" // a client puts a config, or deletes it

	Crash         Kind = "crash"          // a process is killed, at a point or at once, and starts again
	Restart       Kind = "restart"        // a process is asked to end, and starts again
	Freeze        Kind = "freeze"         // a process stops, and continues
	Partition     Kind = "partition"      // hosts cannot reach the server
	SlowNetwork   Kind = "slow-network"   // messages take long
	LeakyNetwork  Kind = "leaky-network"  // messages that no stream stores are lost
	ServerRestart Kind = "server-restart" // the server is unreachable, and loses the data that is only in its memory
	ServerFull    Kind = "server-full"    // the server refuses to store the log
	LostAppend    Kind = "lost-append"    // an append does not arrive
	LostAnswer    Kind = "lost-answer"    // an append is stored, but its answer is lost
	TornRound     Kind = "torn-round"     // an append is stored in part
	ClockJump     Kind = "clock-jump"     // the wall clock of a process is wrong
	EngineRefuses Kind = "engine-refuses" // calls fail without an effect
	EngineFails   Kind = "engine-fails"   // calls fail, with an effect or without
	EngineHangs   Kind = "engine-hangs"   // calls get no answer
	PullFails     Kind = "pull-fails"     // no image can be pulled
	PullSlow      Kind = "pull-slow"      // images take minutes
	PortTaken     Kind = "port-taken"     // another program holds a port
	DeafHints     Kind = "deaf-hints"     // the engine's hints of exits are lost
	Exit          Kind = "exit"           // a container's process ends
	Vanish        Kind = "vanish"         // a container is removed by another program
	HostDown      Kind = "host-down"      // a host loses its power, and comes back with its containers
	HostWiped     Kind = "host-wiped"     // a host comes back without its containers
	BadImage      Kind = "bad-image"      // an image crashes, ends, cannot be pulled or is never healthy
	StreamLost    Kind = "stream-lost"    // a stream is deleted and created again, and adopted
	LostAsRead    Kind = "lost-as-read"   // the orders are lost while a restarted node reads them, and adopted
	LogRestored   Kind = "log-restored"   // the log is restored from a backup, and adopted
	DiskFilled    Kind = "disk-filled"    // a container takes more of the disk than it may
	TagMoved      Kind = "tag-moved"      // a tag moves to another image on hosts
	FoldSpoiled   Kind = "fold-spoiled"   // the last snapshot of the fold is changed, or deleted
	LogDamaged    Kind = "log-damaged"    // the log loses or changes a message, and is repaired
	Emptied       Kind = "emptied"        // all servers end at once: the statuses are lost, and their stream keeps its identity
	ReaderStalls  Kind = "reader-stalls"  // a process gets the messages of streams late
	ToldTwice     Kind = "told-twice"     // a process gets the last messages of streams twice
	Leaderless    Kind = "leaderless"     // a stream, a bucket or the objects have no leader: no server answers calls to them
	Panics        Kind = "panics"         // the coordinators panic in a unit of work; only in a program compiled for that
	StaleInfo     Kind = "stale-info"     // a host is told outdated ends of the streams
	OtherVersion  Kind = "other-version"  // a process is replaced by one of an older or a newer version
)

// Action is one command of a client, or one fault.
type Action struct {
	At   time.Duration `json:"at"`
	Kind Kind          `json:"kind"`
	// Targets are the hosts or processes that it hits.
	Targets []string `json:"targets,omitempty"`
	// For is how long it lasts.
	For time.Duration `json:"for,omitzero"`
	// Point and Before say where a process is hit.
	Point  Point `json:"point,omitempty"`
	Before bool  `json:"before,omitzero"`
	// Subject, Header and Body belong to a command; Raw is a body of bytes that are not text. For a config, Subject is the key.
	Subject string            `json:"subject,omitempty"`
	Header  map[string]string `json:"header,omitempty"`
	Body    string            `json:"body,omitempty"`
	Raw     []byte            `json:"raw,omitempty"`
	// N decides the other choices of the action.
	N int `json:"n,omitzero"`
}

// String returns the action as a line of the transcript.
func (a Action) String() string {
	text := fmt.Sprintf("%-11s %s", a.At.Round(time.Millisecond), a.Kind)
	if a.Kind == Command {
		return text + " " + a.Subject + headers(a.Header) + " " + short(a.Body)
	}
	if a.Kind == Config {
		return text + " " + a.Subject
	}
	if len(a.Targets) > 0 {
		text += " " + strings.Join(a.Targets, ",")
	}
	if a.Point != "" {
		when := "after"
		if a.Before {
			when = "before"
		}
		text += " " + when + " " + string(a.Point)
	}
	if a.For > 0 {
		text += " for " + a.For.Round(time.Millisecond).String()
	}
	return text
}

func headers(h map[string]string) string {
	if h["ce-id"] == "" {
		return ""
	}
	return " (id " + h["ce-id"] + ")"
}

func short(body string) string {
	const most = 120
	if len(body) > most {
		return fmt.Sprintf("%q… (%d bytes)", body[:most], len(body))
	}
	if strings.ContainsFunc(body, func(r rune) bool { return r < ' ' }) {
		return fmt.Sprintf("%q", body)
	}
	return body
}

// Plan is one run: the same plan gives the same run, byte for byte.
type Plan struct {
	Seed         uint64 `json:"seed"`
	Coordinators int    `json:"coordinators"`
	Nodes        int    `json:"nodes"`
	// Ports is how many ports each node offers.
	Ports int `json:"ports"`
	// Cores and GiB are the capacity of each node; 0 leaves it to the engine. Zones is the number of zones of the nodes.
	Cores int `json:"cores,omitzero"`
	GiB   int `json:"gib,omitzero"`
	Zones int `json:"zones,omitzero"`
	// DefaultMiB is the memory in MiB, and the CPU in thousandths of a core, that every third node reserves for an instance whose spec has
	// no requests.
	DefaultMiB int `json:"default_mib,omitzero"`
	// Heartbeat is the interval between a node's heartbeats.
	Heartbeat time.Duration `json:"heartbeat"`
	// SnapshotEvery is how many messages of the log lie between two snapshots of the fold; 0 for none.
	SnapshotEvery uint64 `json:"snapshot_every,omitzero"`
	// Golden starts the cluster with a log that an earlier version wrote.
	Golden bool `json:"golden,omitzero"`
	// Accounts says that the bus knows its users: every command is by one.
	Accounts bool `json:"accounts,omitzero"`
	// Lasts is how long clients send commands and faults occur; then everything heals.
	Lasts   time.Duration `json:"lasts"`
	Actions []Action      `json:"actions"`
}

// Draw returns the plan of a seed, with additional faults of these kinds of Beside.
func Draw(seed uint64, beside ...Kind) Plan {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 1))}
	p := Plan{
		Seed:         seed,
		Coordinators: 1 + d.IntN(3),
		Nodes:        1 + d.IntN(6),
		Ports:        4 + d.IntN(30),
		Heartbeat:    []time.Duration{5 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second}[d.IntN(4)],
		Golden:       d.IntN(20) == 0,
		Lasts:        20*time.Minute + time.Duration(d.Int64N(int64(3*time.Hour))),
	}
	if d.IntN(2) == 0 {
		p.Cores, p.GiB, p.Zones = 1+d.IntN(8), 1+d.IntN(16), d.IntN(4)
	}
	if many := 24; d.IntN(12) == 0 {
		p.Nodes += d.IntN(many)
	}
	d.plan = &p
	const between = 35 * time.Second
	for at := d.soon(between); at < p.Lasts; at += d.soon(between) {
		p.Actions = append(p.Actions, d.clients(at)...)
	}
	for at := time.Minute + d.soon(4*time.Minute); at < p.Lasts; at += d.soon(4 * time.Minute) {
		p.Actions = append(p.Actions, d.misfortune(at)...)
	}
	d.operator()
	if d.IntN(3) == 0 {
		const most = 1500
		p.DefaultMiB = 1 + d.IntN(most)
	}
	for _, a := range p.Actions {
		if a.Kind == StreamLost {
			p.Actions = append(p.Actions, d.worse(a)...)
		}
	}
	for n := d.IntN(4); n > 0; n-- {
		p.Actions = append(p.Actions, d.update(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
	for n := d.IntN(4); n > 0; n-- {
		p.Actions = append(p.Actions, d.rebalance(time.Duration(d.Int64N(int64(p.Lasts)))))
	}
	p.Actions = append(p.Actions, d.tags()...)
	d.disks()
	p.Actions = append(p.Actions, d.jobs()...)
	d.lostAsRead()
	for n := d.IntN(6); n > 0; n-- {
		p.Actions = append(p.Actions, d.goBack(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
	d.configs()
	if d.IntN(3) == 0 {
		p.Actions = append(p.Actions, d.asOf(time.Duration(d.Int64N(int64(20*time.Minute))))...)
	}
	d.operations()
	d.absences()
	d.ends()
	d.sayMore()
	d.folds()
	d.servers()
	for i, kind := range append([]Kind{StaleInfo}, beside...) {
		const first = 4 // the sequences below are of other faults
		d.ofKind(kind, first+uint64(i))
	}
	d.upgrades()
	d.drainDelays()
	d.users()
	slices.SortStableFunc(p.Actions, func(a, b Action) int { return int(a.At - b.At) })
	return p
}

// operations draws changes of services: wave by wave, or of all slots at once.
func (d *drawer) operations() {
	p := d.plan
	for n := d.IntN(5); n > 0; n-- {
		p.Actions = append(p.Actions, d.updates(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
	for n := d.IntN(5); n > 0; n-- {
		p.Actions = append(p.Actions, d.rescales(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
	for n := d.IntN(4); n > 0; n-- {
		p.Actions = append(p.Actions, d.snapshotting(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
	for n := d.IntN(4); n > 0; n-- {
		p.Actions = append(p.Actions, d.suspending(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
	for n := d.IntN(5); n > 0; n-- {
		p.Actions = append(p.Actions, d.grouping(time.Duration(d.Int64N(int64(p.Lasts))))...)
	}
}

// drawer draws a plan.
type drawer struct {
	*rand.Rand
	plan *Plan
	ids  int
	said []Action
	// near is the host that the first fault of a misfortune hits, so that the second one hits it too; "" for none.
	near string
}

// soon draws a time, mean on average.
func (d *drawer) soon(mean time.Duration) time.Duration {
	return time.Millisecond + time.Duration(d.ExpFloat64()*float64(mean)).Round(time.Millisecond)
}

func (d *drawer) node() string {
	if d.near != "" && !isCoordinator(d.near) {
		return d.near
	}
	return nodeName(d.IntN(d.plan.Nodes))
}

func (d *drawer) coordinator() string {
	if isCoordinator(d.near) {
		return d.near
	}
	return coordinatorName(d.IntN(d.plan.Coordinators))
}

// Name returns the name of a node, a coordinator or a zone.
func Name(kind string, i int) string { return fmt.Sprintf("%s-%d", kind, i) }

func nodeName(i int) string        { return Name("node", i) }
func coordinatorName(i int) string { return Name("coordinator", i) }

// process draws a process: in half of the cases a coordinator, and otherwise a node.
func (d *drawer) process() string {
	if d.near != "" {
		return d.near
	}
	if d.IntN(2) == 0 {
		return d.coordinator()
	}
	return d.node()
}

// hosts draws a set of hosts.
func (d *drawer) hosts() []string {
	var all []string
	for i := range d.plan.Coordinators {
		all = append(all, coordinatorName(i))
	}
	for i := range d.plan.Nodes {
		all = append(all, nodeName(i))
	}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+d.IntN(len(all))]
}
