package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// group is what the log says of services that one command changes together.
type group struct {
	id      events.GroupID
	command uint64
	// members are the services, and stages the order in which they change; before are what those that have changed were asked to be.
	members map[events.ServiceID]bool
	stages  [][]string
	before  map[events.ServiceID]*was
	stage   uint32
	// aborted says that all go back, and back that the present stage does, since entered.
	aborted, back bool
	entered       time.Time
	// unsettled are the services that are not as they shall be, and since when.
	unsettled map[events.ServiceID]time.Time
	// ended is how it did; "" as long as it goes on.
	ended events.GroupOutcome
	late  late
}

// was is what a service was asked to be; nil where there was none, or it was to be dropped.
type was struct {
	spec  events.Spec
	scale uint32
}

// has reports whether the group holds the service. There may be no group.
func (g *group) has(id events.ServiceID) bool {
	return g != nil && g.ended == "" && g.members[id]
}

// of returns the services of a stage.
func (g *group) of(stage uint32) []events.ServiceID {
	var ids []events.ServiceID
	for _, name := range g.stages[stage-1] {
		ids = append(ids, g.id.Member(name))
	}
	return ids
}

// reached returns the services that have changed by now.
func (g *group) reached() []events.ServiceID {
	var ids []events.ServiceID
	for stage := range g.stage {
		ids = append(ids, g.of(stage+1)...)
	}
	return ids
}

// present returns the services that the group waits for.
func (g *group) present() []events.ServiceID {
	if g.back {
		return g.of(g.stage)
	}
	return g.reached()
}

// waitsForPromotion reports whether somebody is to promote canaries of one of the group's services. There may be no group.
func (g *group) waitsForPromotion(k *knowledge) bool {
	return g != nil && slices.ContainsFunc(g.present(), func(id events.ServiceID) bool {
		s := k.services[id]
		return s != nil && s.waitsForPromotion()
	})
}

// groupFate judges what becomes of a command to a group.
func (k *knowledge) groupFate(j *judge, id events.GroupID, now time.Time, d events.Fate) {
	sequence, ended := d.Fated(), events.GroupOutcome("")
	switch d := d.(type) {
	case events.CommandAccepted:
		k.outcome(j, sequence, &fate{group: id, verb: d.Verb, since: now, accepted: true})
		k.once(j, d.CommandIdentity)
		return
	case events.CommandRejected:
		k.outcome(j, sequence, &fate{})
		return
	case events.CommandRepeated:
		k.outcome(j, sequence, &fate{})
		k.repeats(j, d)
		return
	case events.CommandSucceeded:
		ended = events.GroupDone
	case events.CommandSuperseded:
		ended = events.GroupSuperseded
	case events.CommandFailed:
		ended = events.GroupGoneBack
	}
	f, g := k.end(j, sequence), k.groups[sequence]
	if f.verb == "ensure" && (g == nil || g.ended != ended) {
		j.breach("groups", "command %d to group %s ends as %T, and its group is %+v", sequence, id, d, g)
	}
	delete(k.groups, sequence)
}

// together judges an event of a group.
func (k *knowledge) together(j *judge, id events.GroupID, d events.Data) {
	switch d := d.(type) {
	case events.GroupStarted:
		k.begins(j, id, d)
	case events.GroupEntered:
		k.enters(j, k.groups[d.Command], d)
	case events.GroupAborted:
		k.turns(j, k.groups[d.Command], d)
	case events.GroupEnded:
		k.letsGo(j, k.groups[d.Command], d)
	}
}

// begins holds a group to be of the services that its command names, none of which another command holds.
func (k *knowledge) begins(j *judge, id events.GroupID, d events.GroupStarted) {
	g := &group{
		id: id, command: d.Command, members: map[events.ServiceID]bool{}, stages: d.Stages, entered: j.at,
		before: map[events.ServiceID]*was{}, unsettled: map[events.ServiceID]time.Time{},
	}
	if f := k.open[d.Command]; f == nil || f.group != id {
		j.breach("groups", "group %s begins for command %d, which is %+v", id, d.Command, f)
	}
	said, known := j.read(d.Command)
	for _, name := range slices.Sorted(maps.Keys(d.Services)) {
		member, part := id.Member(name), d.Services[name]
		k.alone(j, d.Command, member)
		k.unseen(j, d.Command, member)
		delete(k.asked, member)
		k.asksAnew(member)
		if known && said.Services[name].Image != part.Image {
			j.breach("groups", "group %s has %s, which is to run %s, and %s was asked for", id, name, part.Image, said.Services[name].Image)
		}
		g.members[member] = true
	}
	if known && len(said.Services) != len(d.Services) {
		j.breach("groups", "group %s has %d services of %d", id, len(d.Services), len(said.Services))
	}
	for other, o := range k.groups {
		if o.id == id && o.ended == "" {
			j.breach("groups", "groups %d and %d of the name %s are under way", other, d.Command, id)
		}
	}
	k.inTurn(j, g, d)
	k.groups[d.Command] = g
}

// asWas returns what a service is asked to be ahead of its change, and holds what is said of it to be that.
func (k *knowledge) asWas(j *judge, id events.ServiceID, said map[string]events.GroupBefore) *was {
	k.isBack(j, id)
	delete(k.back, id)
	s, before := k.services[id], (*was)(nil)
	if s != nil && !s.dropped {
		before = &was{spec: s.specs[s.revision], scale: s.scale}
	}
	told, is := said[id.Name]
	if is != (before != nil) || (is && (told.Revision != s.revision || told.Scale != s.scale)) {
		j.breach("groups", "%s is to go back to %+v, and is %+v", id, said, before)
	}
	return before
}

// inTurn holds stages to have every service once, what starts after those that it names, and what stops before.
func (k *knowledge) inTurn(j *judge, g *group, d events.GroupStarted) {
	turn := map[string]int{}
	for i, stage := range d.Stages {
		for _, name := range stage {
			if _, twice := turn[name]; twice {
				j.breach("groups", "%s is in two stages of group %s", name, g.id)
			}
			turn[name] = i
		}
	}
	if len(turn) != len(d.Services) {
		j.breach("groups", "group %s has %d services, and %d in its stages", g.id, len(d.Services), len(turn))
	}
	stops := func(name string) bool {
		s, scale := k.services[g.id.Member(name)], d.Services[name].Scale
		return s != nil && !s.dropped && s.scale > 0 && scale != nil && *scale == 0
	}
	for name, part := range d.Services {
		for _, other := range part.After {
			earlier, later := other, name
			if stops(name) {
				earlier, later = name, other
			}
			if stops(name) == stops(other) && turn[earlier] >= turn[later] {
				j.breach("groups", "%s is to change before %s in group %s, and their stages are %d and %d", earlier, later, g.id, turn[earlier], turn[later])
			}
		}
	}
}

// enters holds a stage to follow the one before, whose services are as they shall be.
func (k *knowledge) enters(j *judge, g *group, d events.GroupEntered) {
	if g == nil || g.ended != "" {
		j.breach("groups", "a group that is none enters stage %d", d.Stage)
		return
	}
	next := g.stage + 1
	if g.aborted {
		next = g.stage
		if g.back {
			next--
		}
	}
	if d.Back != g.aborted || d.Stage != next || d.Stage < 1 || int(d.Stage) > len(g.stages) || !slices.Equal(d.Services, g.stages[d.Stage-1]) {
		j.breach("groups", "group %s enters stage %d, back: %t, after stage %d of %d, aborted: %t", g.id, d.Stage, d.Back, g.stage, len(g.stages), g.aborted)
		return
	}
	k.isDone(j, g)
	for _, name := range d.Services {
		id := g.id.Member(name)
		delete(k.asked, id) // the group has the last word
		if !d.Back {
			g.before[id] = k.asWas(j, id, d.Before)
		}
	}
	g.stage, g.back, g.entered, g.late = d.Stage, d.Back, j.at, late{}
}

// isDone holds the services that the group waits for to have come to what they shall be. On the way back nobody waits for those that
// cannot.
func (k *knowledge) isDone(j *judge, g *group) {
	for _, id := range g.present() {
		if g.aborted && (!g.back || k.waitsForNobody(id) || k.noProgress(g, id, j.at)) {
			continue
		}
		if !k.isSettled(id) {
			j.breach("groups", "group %s goes on from stage %d, and %s is not as it shall be", g.id, g.stage, id)
		}
	}
}

// waitsForNobody reports whether the service is gone, or goes on once somebody says so.
func (k *knowledge) waitsForNobody(id events.ServiceID) bool {
	s := k.services[id]
	return s == nil || s.waitsForPeople()
}

// isSettled reports whether all slots of the service serve as they shall, and nothing else of it is left.
func (k *knowledge) isSettled(id events.ServiceID) bool {
	s := k.services[id]
	if s == nil || s.op != nil || s.snapshots.wanted > 0 || (s.topology != nil && (s.topology.Change != nil || s.topology.Scale != s.scale)) {
		return false
	}
	serving := 0
	for _, i := range k.of(id) {
		if i.absent() {
			continue
		}
		if i.retired || i.lost || !s.upToDate(i) || i.replaces > 0 || i.seen.Phase != events.PhaseOnline {
			return false
		}
		serving++
	}
	return s.dropped || serving == int(s.scale)
}

// settles follows whether a service of a group is as it shall be.
func (k *knowledge) settles(id events.ServiceID, now time.Time) {
	for _, g := range k.groups {
		if !g.has(id) {
			continue
		}
		if k.isSettled(id) {
			delete(g.unsettled, id)
		} else if _, known := g.unsettled[id]; !known {
			g.unsettled[id] = now
		}
	}
}

// noProgress reports whether the service has made none for as long as its spec gives it.
func (k *knowledge) noProgress(g *group, id events.ServiceID, now time.Time) bool {
	f := &fate{service: id, since: g.entered}
	if since := g.unsettled[id]; since.After(g.entered) {
		f.since = since
	}
	return now.Sub(k.countsFrom(f, now)) >= k.deadline(f)
}

// asksAnew notes that something is asked of the service: what a group was to take back counts no more.
func (k *knowledge) asksAnew(id events.ServiceID) {
	if s := k.services[id]; s != nil {
		s.takesBack = false
	}
}

// goesBack reports whether the service's group has it be what it was before.
func (k *knowledge) goesBack(id events.ServiceID) bool {
	for _, g := range k.groups {
		if g.has(id) {
			return g.aborted
		}
	}
	s := k.services[id]
	return s != nil && s.takesBack
}

// turns holds a group to go back for a reason: somebody has said so, the operation of a service has failed, or it makes no progress.
func (k *knowledge) turns(j *judge, g *group, d events.GroupAborted) {
	if g == nil || g.ended != "" || g.aborted {
		j.breach("groups", "group %+v is aborted by command %d", g, d.Command)
		return
	}
	g.aborted = true
	if d.Service == "" {
		return
	}
	id := g.id.Member(d.Service)
	if late := k.noProgress(g, id, j.at); !slices.Contains(g.reached(), id) || (!k.broke[id] && (!late || k.isSettled(id))) {
		j.breach("groups", "group %s is aborted because of %s: its operation failed: %t, it makes no progress: %t", g.id, id, k.broke[id], late)
	}
}

// letsGo holds a group to end with every service as it shall be, or with all as before.
func (k *knowledge) letsGo(j *judge, g *group, d events.GroupEnded) {
	if g == nil || g.ended != "" {
		j.breach("groups", "group %+v ends as %s", g, d.Outcome)
		return
	}
	g.ended = d.Outcome
	if d.Outcome != events.GroupDone {
		maps.Copy(k.back, g.before)
		for id, before := range g.before {
			if s := k.services[id]; s != nil {
				s.takesBack = before != nil
			}
		}
		return
	}
	if g.aborted || int(g.stage) != len(g.stages) {
		j.breach("groups", "group %s is done in stage %d of %d, aborted: %t", g.id, g.stage, len(g.stages), g.aborted)
	}
	said, known := j.read(g.command)
	for _, id := range g.reached() {
		k.succeeded(j, g.command, id)
		s, want := k.services[id], said.Services[id.Name]
		if known && s != nil && (s.dropped || s.specs[s.revision].Image != want.Image || (want.Scale != nil && s.scale != uint32(*want.Scale))) {
			j.breach("groups", "group %s is done, and %s is not what was asked", g.id, id)
		}
	}
}

// wentBack holds the services that groups have let go in the round to be asked to be what they were, unless a command has taken them
// since.
func (k *knowledge) wentBack(j *judge) {
	for _, id := range slices.SortedFunc(maps.Keys(k.back), events.ServiceID.Compare) {
		k.isBack(j, id)
	}
	clear(k.back)
	clear(k.broke)
}

// isBack holds a service that its group has let go to be asked to be what it was.
func (k *knowledge) isBack(j *judge, id events.ServiceID) {
	before, let := k.back[id]
	s := k.services[id]
	switch {
	case !let:
	case before == nil && s != nil && !s.dropped:
		j.breach("groups", "%s was none before its group, and is not dropped", id)
	case before == nil:
	case s == nil || s.dropped || s.specs[s.revision].Hash() != before.spec.Hash() || (!before.spec.Global() && s.scale != before.scale):
		j.breach("groups", "%s is not what it was before its group", id)
	}
}

// groupLate holds a leader to take a group on once it waits for nothing.
func (k *knowledge) groupLate(j *judge, g *group, epoch uint64, now time.Time) {
	waits := false
	for _, id := range g.present() {
		if g.back && k.waitsForNobody(id) {
			continue
		}
		late := k.noProgress(g, id, now) && now.Sub(j.began) >= k.deadline(&fate{service: id})
		waits = waits || (!k.isSettled(id) && !late)
	}
	switch {
	case waits:
		g.late = late{}
	case g.late.left(epoch, now):
		j.breach("groups", "group %s waits for nothing in stage %d, back: %t, for %d rounds", g.id, g.stage, g.back, g.late.rounds)
	}
}
