package world

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// against says why the node must not get one more instance of the service, or "" where it may; as if one that is gone
// were so already, unless that is nil.
func (k *knowledge) against(id events.ServiceID, node string, gone *instance) string {
	s, n := k.services[id], k.nodes[node]
	if s == nil || !k.ready(node) {
		return "it is not ready"
	}
	spec := s.specs[s.revision]
	if free := n.free(); free < len(spec.Ports) && (gone == nil || free+len(gone.ports) < len(spec.Ports)) {
		return "it has no ports left"
	}
	for _, why := range []string{k.excluded(spec, n), k.beside(id, node, gone), k.uneven(id, n.facts.Zone, gone)} {
		if why != "" {
			return why
		}
	}
	if k.lacks(id, node, gone) != (events.Resources{}) {
		return "it has too little CPU or memory"
	}
	return ""
}

// ready reports whether the node takes instances at all.
func (k *knowledge) ready(node string) bool {
	n := k.nodes[node]
	return n != nil && n.epoch > 0 && !n.silent && !n.degraded && !n.paused && n.drain == nil && !n.forgotten && (len(k.allowed) == 0 || slices.Contains(k.allowed, node))
}

// againstSlot says why the node must not get the slot's next instance, or "" where it may.
func (k *knowledge) againstSlot(id events.InstanceID, node string, gone *instance) string {
	if home := k.service(id.Service).home(id.Ordinal); home != "" && home != node && (gone == nil || !k.leavesVolumes()) {
		if !k.service(id.Service).roams(id.Ordinal) || k.againstSlot(id, home, gone) == "" {
			return "the volumes of its slot are on " + home
		}
	}
	if k.heldFrom(id, node, gone) {
		return "it is held for " + k.kept.service.String()
	}
	why := ""
	k.service(id.Service).as(id.Ordinal, func() { why = k.against(id.Service, node, gone) })
	return why
}

// home returns the node that has the volumes which the slot needs, or "".
func (s *service) home(ordinal uint32) string {
	if !volumes(s.specs[s.target(ordinal)]) {
		return ""
	}
	return s.homes[ordinal]
}

// settle follows an instance that is placed: its slot's volumes are there from here on, or nowhere.
func (s *service) settle(i *instance) {
	delete(s.homes, i.id.Ordinal)
	if volumes(s.specs[i.revision]) {
		s.homes[i.id.Ordinal] = i.node
	}
}

func volumes(spec events.Spec) bool {
	for _, v := range spec.Volumes {
		if v.Kind == events.VolumeNamed {
			return true
		}
	}
	return false
}

// fail notes an instance of the revision that failed.
func (s *service) fail(i *instance, seen events.InstanceSeen, at time.Time) {
	if seen.Phase == events.PhaseOffline && !i.retired && s.upToDate(i) && (seen.ExitCode == nil || *seen.ExitCode != 0) {
		s.failed[i.node] = append(s.failed[i.node], at)
	}
}

// fails reports whether the revision failed on the node five times within five minutes.
func (s *service) fails(node string, at time.Time) bool {
	late := 0
	for _, failed := range s.failed[node] {
		if at.Sub(failed) < 5*time.Minute {
			late++
		}
	}
	return late >= 5
}

// empty returns the slots of the service that have no instance which shall run, in order.
func (k *knowledge) empty(id events.ServiceID) []uint32 {
	s, filled := k.services[id], map[uint32]bool{}
	for _, i := range k.of(id) {
		filled[i.id.Ordinal] = filled[i.id.Ordinal] || i.runs()
	}
	var empty []uint32
	for o := uint32(0); o < s.span() && !s.dropped && !s.resting(); o++ {
		if !filled[o] && !s.job.done[o] {
			empty = append(empty, o)
		}
	}
	return empty
}

// vacant returns the empty slots that need not wait for what they had to be gone.
func (k *knowledge) vacant(j *judge, id events.ServiceID) []uint32 {
	return slices.DeleteFunc(k.empty(id), func(o uint32) bool { return k.clears(j, id, o) })
}

// due returns the vacant slots that may have their next instance now: one that used up its restarts waits for a while.
func (k *knowledge) due(j *judge, id events.ServiceID, now time.Time) []uint32 {
	return slices.DeleteFunc(k.vacant(j, id), func(o uint32) bool { return k.services[id].until(o).After(now) })
}

// roomForAny reports whether a node could have the next instance of one of the slots.
func (k *knowledge) roomForAny(id events.ServiceID, slots []uint32) bool {
	return slices.ContainsFunc(slots, func(o uint32) bool { return k.room(id, o) })
}

// excluded says what the node is that the spec does not want.
func (k *knowledge) excluded(spec events.Spec, n *machine) string {
	for label, value := range spec.NodeSelector {
		if n.facts.Labels[label] != value {
			return "it does not have the label"
		}
	}
	if len(spec.Zones) > 0 && !k.policy.ZoneAffinity.Soft && !slices.Contains(spec.Zones, n.facts.Zone) {
		return "it is in none of the zones"
	}
	return ""
}

// beside says what of the instances on the node is against one more of the service.
func (k *knowledge) beside(id events.ServiceID, node string, gone *instance) string {
	spec := k.services[id].specs[k.services[id].revision]
	own := uint32(0)
	for _, i := range k.present {
		if i.node != node || i == gone || !i.runs() {
			continue
		}
		if i.id.Service == id {
			own++
		}
		if !k.policy.AntiAffinity.Soft && i.id.Service.Namespace == id.Namespace && events.MatchAll(spec.AntiAffinity, k.labels(i)) {
			return "it has " + i.id.String() + ", which it is to be apart from"
		}
	}
	if spec.MaxPerNode > 0 && own >= spec.MaxPerNode {
		return "it has as many as a node may have"
	}
	return ""
}

// lacks is what the node has too little of for one more instance of the service.
func (k *knowledge) lacks(id events.ServiceID, node string, gone *instance) events.Resources {
	asks, has := k.setAside(id, node), k.nodes[node].facts.Allocatable()
	needs := asks
	for _, i := range k.present {
		if i.node == node && i != gone {
			needs = needs.Plus(i.takes())
		}
	}
	var lacks events.Resources
	if asks.CPU > 0 && has.CPU > 0 && needs.CPU > has.CPU {
		lacks.CPU = needs.CPU - has.CPU
	}
	if asks.Memory > 0 && has.Memory > 0 && needs.Memory > has.Memory {
		lacks.Memory = needs.Memory - has.Memory
	}
	return lacks
}

// setAside is what is set aside on the node for one more instance of the service: each amount is the first that anybody
// names, of what the spec requests, its limit, the node's default and the policy's.
func (k *knowledge) setAside(id events.ServiceID, node string) events.Resources {
	spec := k.services[id].specs[k.services[id].revision]
	var r events.Resources
	for _, says := range []events.Resources{spec.Requests, spec.Resources, k.nodes[node].facts.Default, k.policy.Default} {
		r.CPU, r.Memory, r.Disk = cmp.Or(r.CPU, says.CPU), cmp.Or(r.Memory, says.Memory), cmp.Or(r.Disk, says.Disk)
	}
	r.Disk += k.scratch(id)
	return r
}

func (k *knowledge) labels(i *instance) map[string]string {
	if s := k.services[i.id.Service]; s != nil {
		return s.specs[i.revision].Labels
	}
	return nil
}

// uneven says whether one more instance takes the zone further ahead of another than the policy allows. Zones count that
// have a node which is ready and which the spec does not exclude.
func (k *knowledge) uneven(id events.ServiceID, zone string, gone *instance) string {
	p, s := k.policy.Spread, k.services[id]
	if s.specs[s.revision].Global() || !p.Enabled || p.Soft || (p.IgnoreScaled && s.scale > 1) {
		return ""
	}
	counts := map[string]uint32{}
	for name, n := range k.nodes {
		if k.ready(name) && k.excluded(s.specs[s.revision], n) == "" {
			counts[n.facts.Zone] += 0
		}
	}
	for _, i := range k.present {
		at := k.nodes[i.node].facts.Zone
		if _, counted := counts[at]; counted && i.runs() && i != gone && i != k.leaves && k.spreads(id, i) {
			counts[at]++
		}
	}
	least := counts[zone]
	for _, n := range counts {
		least = min(least, n)
	}
	if counts[zone]+1-least > p.MaxSkew {
		return "its zone is too far ahead"
	}
	return ""
}

// spreads reports whether the instance is one of those that the service is spread with.
func (k *knowledge) spreads(id events.ServiceID, i *instance) bool {
	s := k.services[id]
	if selectors := s.specs[s.revision].Spread; len(selectors) > 0 {
		return i.id.Service.Namespace == id.Namespace && events.MatchAll(selectors, k.labels(i))
	}
	return i.id.Service == id
}

// explained holds the reasons of a placement to be those of all nodes.
func (k *knowledge) explained(j *judge, id events.InstanceID, d events.InstancePlaced) {
	if d.Choice == nil && j.w.plan.Golden {
		return // an earlier version gave none
	}
	if d.Choice == nil {
		j.breach("reasons", "%s is placed without a reason", id)
		return
	}
	could, joined, better := 0, 0, false
	for name, n := range k.nodes {
		if n.epoch > 0 {
			joined++
		}
		if k.againstSlot(id, name, nil) == "" {
			could++
			better = better || (!k.services[id.Service].fails(name, j.at) && name != k.services[id.Service].crashedOn(id.Ordinal))
		}
	}
	if better && k.services[id.Service].fails(d.Node, j.at) {
		j.breach("placement", "%s is placed on %s, where its revision fails, and another node could have it", id, d.Node)
	}
	if j.earlier() {
		return // what had ended held its share of the node until it was removed
	}
	if left := int(d.Choice.Nodes) - sum(d.Choice.Removed); int(d.Choice.Nodes) != joined || left != could {
		j.breach("reasons", "%s is placed as if %d of %d nodes could have it, and %d of %d could", id, left, d.Choice.Nodes, could, joined)
	}
}

// pending holds a slot that waits to have no node.
func (k *knowledge) pending(j *judge, id events.ServiceID, d events.InstancePending) {
	k.service(id).waits, k.service(id).late = true, late{}
	if k.service(id).resting() {
		j.breach("suspend", "%s/%d waits for a node, and the service rests", id, d.Ordinal)
	}
	if k.room(id, d.Ordinal) && !j.earlier() {
		j.breach("placement", "%s/%d waits for a node, and there is one for it", id, d.Ordinal)
	}
	if left := int(d.Nodes) - sum(d.Removed); left != 0 {
		j.breach("reasons", "%s/%d waits, and for %d nodes there is no reason", id, d.Ordinal, left)
	}
	k.holds(j, id, d)
}

// forgotten holds a leader to look at what waits once there is a node for it, and to have global services follow the nodes.
func (k *knowledge) forgotten(j *judge, epoch uint64, now time.Time) {
	k.heldRightly(j, epoch, now)
	k.forced(j, epoch, now)
	for _, id := range slices.SortedFunc(maps.Keys(k.services), events.ServiceID.Compare) {
		s := k.services[id]
		k.letsGoOfLost(j, id, epoch, now)
		s.due(j, id, epoch, now)
		k.leftToCrash(j, id, epoch, now)
		k.stuck(j, id, epoch, now)
		k.stillRuns(j, id, epoch, now)
		switch {
		case !s.specs[s.revision].Global() || s.dropped || s.rest != nil || s.scale == k.reach(id):
			s.lags = late{}
		case s.lags.left(epoch, now):
			j.breach("placement", "%s has %d instances for %d nodes, and had for %d rounds", id, s.scale, k.reach(id), s.lags.rounds)
			return
		}
		switch {
		case !s.waits:
		case k.againstJob(id, now) != "" || !k.roomForAny(id, s.mayHave(k.vacant(j, id), now)):
			s.late = late{}
		case s.late.left(epoch, now):
			j.breach("placement", "%s waits for a node, and has had one for %d rounds", id, s.late.rounds)
			return
		}
	}
}

// reach counts the nodes that shall have an instance of the global service.
func (k *knowledge) reach(id events.ServiceID) uint32 {
	s, has := k.services[id], map[string]bool{}
	for _, i := range k.of(id) {
		has[i.node] = has[i.node] || !i.retired
	}
	reach := uint32(0)
	for name, n := range k.nodes {
		if n.epoch > 0 && k.excluded(s.specs[s.revision], n) == "" && (has[name] || k.ready(name)) {
			reach++
		}
	}
	return reach
}

// sum counts the nodes that any filter removed.
func sum(r events.Removed) int {
	return int(r.Silent + r.Degraded + r.Paused + r.Drained + r.NotAllowed + r.NodeSelector + r.Zone + r.AntiAffinity + r.MaxPerNode +
		r.HostPort + r.Ports + r.CPU + r.Memory + r.Disk + r.Spread + r.Held + r.Volumes)
}
