package world

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// The versions of the programs in a simulation. They differ in nothing but the levels at which they work.
var (
	older   = events.Program{Version: "older"}
	present = events.Program{Version: "present", Levels: events.OwnLevels}
	newer   = events.Program{Version: "newer", Levels: events.Levels{Most: events.OwnLevels.Most + 1}}
)

// begins is the version of all processes at first: the older one where others take its place, so that a new cluster begins at its level.
func (p Plan) begins() events.Program {
	if !p.Golden && p.changesVersions() {
		return older
	}
	return present
}

// changesVersions reports whether processes of other versions take the place of some.
func (p Plan) changesVersions() bool {
	return slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Kind == OtherVersion })
}

// upgrades draws, for some plans, processes that are replaced by older or newer ones, in part all of them in turn, and commands to finish the
// upgrade.
func (d *drawer) upgrades() {
	const sequence, share, mean = 1000, 3, 10 * time.Minute
	d.Rand = rand.New(rand.NewPCG(d.plan.Seed, sequence))
	if d.IntN(share) > 0 {
		return
	}
	d.ofKind(OtherVersion, sequence+1)
	for at := d.soon(mean); at < d.plan.Lasts; at += d.soon(mean) {
		if d.IntN(2) == 0 {
			d.rolling(at)
		}
		d.plan.Actions = append(d.plan.Actions, Action{
			At: at + d.soon(time.Minute), Kind: Command, Subject: events.CommandRoot + ".cluster.finish-upgrade", Body: `{}`,
		})
	}
}

// rolling draws that all processes are replaced in turn by ones of one version.
func (d *drawer) rolling(at time.Duration) {
	p, version := d.plan, d.IntN(versions)
	all := make([]string, 0, p.Coordinators+p.Nodes)
	for i := range p.Coordinators {
		all = append(all, coordinatorName(i))
	}
	for i := range p.Nodes {
		all = append(all, nodeName(i))
	}
	for _, name := range all {
		at += d.soon(5 * time.Second)
		p.Actions = append(p.Actions, Action{At: at, Kind: OtherVersion, Targets: []string{name}, For: p.Lasts, N: version})
	}
}

// versions is how many versions a process may be replaced by.
const versions = 3

// hitOtherVersion replaces the process of a part by one of another version, until the fault ends or another one hits the part.
func hitOtherVersion(w *World, a Action) {
	p := w.partNamed(a.Targets[0])
	p.becomes([versions]events.Program{older, present, newer}[a.N%versions])
	w.lasts(a, func() { p.becomes(newer) })
}

// becomes replaces the part's process by one of this version.
func (p *part) becomes(program events.Program) {
	if p.program == program {
		return
	}
	p.program = program
	if p.alive() {
		p.keepDown()
		p.stop()
		const pause = time.Second
		p.world.at(time.Now().Add(pause), func() bool { p.letUp(); return true })
	}
}
