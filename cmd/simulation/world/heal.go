package world

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	coordinator "github.com/rookery-project/rookery/coordinator/runner"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
	"github.com/rookery-project/rookery/projections"
	"github.com/rookery-project/rookery/projections/views"
)

// heal ends every fault, and starts what is down.
func (w *World) heal() {
	w.note("== everything heals")
	w.healing = true
	for len(w.ongoing) > 0 {
		over := w.ongoing[0]
		w.ongoing = w.ongoing[1:]
		over()
	}
	w.putConfigs()
	for _, p := range w.parts {
		if p.client != nil {
			p.client.trap, p.client.tear = nil, false
		}
		if p.name != operatorName && !p.alive() {
			p.down = 0
			w.revive(p)
		}
	}
}

// Bounds of what follows the healing.
const (
	// convergeWithin is how long the house may take to be as it shall be: commands have 10 minutes, an image that is
	// pulled slowly as many.
	convergeWithin = 30 * time.Minute
	// lookAgain is how often the judge looks whether it is.
	lookAgain = 5 * time.Second
	// silentFor is how long nothing may be decided then, unless a snapshot is due before.
	silentFor = 90 * time.Second
)

// converge waits until the house is as it shall be, and then holds it to be silent.
func (w *World) converge() {
	end := time.Now().Add(convergeWithin)
	var why []string
	for !w.broken() && time.Now().Before(end) {
		w.until(time.Now().Add(lookAgain), w.broken)
		if why = w.judge.unlike(); len(why) == 0 {
			break
		}
	}
	if w.broken() {
		return
	}
	if len(why) > 0 {
		w.breach("P9", "%s after everything healed: %s", convergeWithin, strings.Join(why, "; "))
		return
	}
	last, ends := w.judge.last, w.judge.endsByItself()
	w.until(w.judge.silentUntil(time.Now()), w.broken)
	if w.judge.last != last && !ends && !w.broken() {
		w.breach("silence", "%d events follow sequence %d, and nothing was asked and nothing happened", w.judge.last-last, last)
	}
	w.judge.atEnd()
}

// endsByItself reports whether an instance of a job runs in a service that is none any more: its update is paused, and it ends when it
// is done.
func (j *judge) endsByItself() bool {
	return slices.ContainsFunc(j.cluster.present, func(i *instance) bool {
		s := j.cluster.services[i.id.Service]
		return s != nil && !s.isJob() && !i.retired && s.specs[i.revision].IsJob()
	})
}

// unlike says in what the house is not as it shall be.
func (j *judge) unlike() []string {
	var why []string
	for _, sequence := range slices.Sorted(maps.Keys(j.sent)) {
		switch f := j.cluster.commands[sequence]; {
		case f == nil:
			why = append(why, fmt.Sprintf("command %d has no outcome", sequence))
		case f.accepted && !f.ended && f.service.Name != "" && j.cluster.service(f.service).waitsForPromotion():
		case f.accepted && !f.ended && j.cluster.groups[sequence].waitsForPromotion(j.cluster):
		case f.accepted && !f.ended:
			why = append(why, fmt.Sprintf("command %d has no end", sequence))
		}
	}
	if j.cluster.moves != nil {
		why = append(why, "a rebalancing has not ended")
	}
	if j.cluster.parted {
		why = append(why, "evictions are paused")
	}
	for _, name := range slices.Sorted(maps.Keys(j.cluster.nodes)) {
		if n := j.cluster.nodes[name]; n.silent && j.w.hosts[name] != nil {
			why = append(why, name+" is silent")
		} else if n.degraded && j.w.hosts[name] != nil {
			why = append(why, name+" is degraded")
		} else if n.drain != nil && !n.drain.done {
			why = append(why, name+" is not drained")
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(j.cluster.services), events.ServiceID.Compare) {
		why = append(why, j.serviceUnlike(id)...)
	}
	return slices.Concat(why, j.enginesUnlike(), j.imagesUnlike(), j.disksUnlike())
}

// serviceUnlike says in what a service is not as it shall be. Where no node could have it, a slot may be empty or have an
// instance of an earlier revision.
func (j *judge) serviceUnlike(id events.ServiceID) []string {
	s := j.cluster.services[id]
	var why []string
	if s.dropped {
		why = append(why, id.String()+" is dropped and not removed")
	}
	if s.isJob() {
		return append(why, j.jobUnlike(id)...)
	}
	if s.rest != nil && !s.dropped {
		return j.restUnlike(id)
	}
	if reach := j.cluster.reach(id); s.specs[s.revision].Global() && !s.dropped && s.scale != reach {
		why = append(why, fmt.Sprintf("%s has %d instances for %d nodes", id, s.scale, reach))
	}
	serving, rests := 0, s.waitsForPeople()
	if s.op != nil && !rests && s.op.phase != events.OperationWait {
		why = append(why, fmt.Sprintf("%s is in phase %s", id, s.op.phase))
	}
	for _, i := range j.cluster.of(id) {
		if i.lost {
			why = append(why, fmt.Sprintf("%s is lost, and its node is back", i.id))
		}
		if rests && (i.replaces > 0 || !i.retired) {
			if !i.retired && i.seen.Phase != events.PhaseOnline && !j.cluster.leftForPeople(i) {
				why = append(why, fmt.Sprintf("%s is %s, and nothing keeps it from serving", i.id, i))
			}
			continue // it stays in its revision
		}
		stuck := !s.upToDate(i) && !j.cluster.room(id, i.id.Ordinal) && j.cluster.against(id, i.node, i) != ""
		if i.retired || (!s.upToDate(i) && !stuck) || i.seen.Phase != events.PhaseOnline {
			why = append(why, fmt.Sprintf("%s is %s in revision %d", i.id, i, i.revision))
			continue
		}
		serving++
	}
	for _, o := range j.cluster.empty(id) {
		if s.until(o).After(time.Now()) {
			why = append(why, fmt.Sprintf("%s/%d waits for its next instance", id, o))
		}
	}
	if j.cluster.roomForAny(id, j.cluster.empty(id)) {
		why = append(why, fmt.Sprintf("%s has %d instances of %d, and there is room", id, serving, s.scale))
	}
	waits := s.op != nil && s.op.phase == events.OperationWait // for nodes: the revision comes before the scale
	if t := s.topology; t != nil && !rests && (t.Change != nil || (t.Scale != s.scale && !waits)) {
		why = append(why, fmt.Sprintf("the topology of %s is %+v, and its scale %d", id, *t, s.scale))
	}
	if serving > int(s.scale) {
		why = append(why, fmt.Sprintf("%s has %d instances of %d", id, serving, s.scale))
	}
	return why
}

// free counts the ports of the node's range that no instance holds.
func (m *machine) free() int {
	n := int(m.offers.Last) - int(m.offers.First) + 1
	for port := range m.held {
		if m.offers.Holds(port) {
			n--
		}
	}
	return n
}

// room reports whether a node could have the slot's next instance.
func (k *knowledge) room(id events.ServiceID, ordinal uint32) bool {
	for name := range k.nodes {
		if k.againstSlot(events.InstanceID{Service: id, Ordinal: ordinal}, name, nil) == "" {
			return true
		}
	}
	return false
}

// enginesUnlike says which containers there are, or are being made, that should not be, and which are missing.
func (j *judge) enginesUnlike() []string {
	var why []string
	for _, name := range slices.Sorted(maps.Keys(j.w.hosts)) {
		h := j.w.hosts[name]
		if h.preparing > 0 {
			why = append(why, fmt.Sprintf("%s has its engine make %d containers", name, h.preparing))
		}
		all := h.engine.Containers()
		slices.SortFunc(all, func(a, b node.Container) int { return a.Instance.Compare(b.Instance) })
		for _, c := range all {
			if i := j.cluster.instances[c.Instance]; i == nil || i.removed || i.node != name || i.revision != c.Revision {
				why = append(why, fmt.Sprintf("%s has a container of %s, and the log has it %s", name, c.Instance, i))
			}
		}
	}
	for _, i := range j.cluster.present {
		if i.retired || j.w.hosts[i.node] == nil || j.cluster.leftForPeople(i) {
			continue
		}
		if _, running := j.w.hosts[i.node].holds(i.id); !running {
			why = append(why, fmt.Sprintf("no container of %s runs on %s", i.id, i.node))
		}
	}
	return why
}

// answered holds a coordinator's answer of its state to be the fold of the log at that place.
func (j *judge) answered(m events.Message) {
	var s coordinator.ClusterState
	if len(m.Body) == 0 || json.Unmarshal(m.Body, &s) != nil {
		return // it is folding the log
	}
	j.follow(s.Sequence)
	if j.follower.Cluster.Sequence != s.Sequence {
		return // it is further by now
	}
	j.told = true
	if hash := j.follower.Cluster.Hash(); hash != s.Hash {
		j.breach("P7", "%s has hash %s at sequence %d, and the log folds to %s", s.Answered, s.Hash, s.Sequence, hash)
	}
}

// follow folds the log up to a sequence.
func (j *judge) follow(to uint64) {
	for j.follower.Last() < to {
		page, _ := j.cursor.Next(int(to - j.follower.Last()))
		if len(page) == 0 {
			return
		}
		for _, m := range page {
			if _, err := j.follower.Take(m); err != nil {
				j.breach("P8", "the log does not fold: %v", err)
				return
			}
		}
	}
}

// atEnd judges what stands at the end: the views, the reasons for what waits, and that a coordinator's state is the log's.
func (j *judge) atEnd() {
	if j.w.broken() {
		return
	}
	j.follow(j.last)
	c := j.follower.Cluster
	for _, id := range slices.SortedFunc(maps.Keys(c.Services), events.ServiceID.Compare) {
		if s := c.Services[id]; s.Lacks() {
			if why := c.WhyPending(s); why == "" || strings.Contains(why, "not decided") {
				j.breach("reasons", "%s lacks an instance and says %q", id, why)
			}
		}
	}
	j.checkViews(c)
	j.checkFolds()
	j.told = false
	j.w.ask()
	j.w.until(time.Now().Add(callTimeout), j.w.broken)
	if !j.told && !j.w.broken() {
		j.breach("P7", "no coordinator has told its state at sequence %d", j.last)
	}
}

func (j *judge) checkViews(c *projections.Cluster) {
	want := views.All(c).Values
	maps.DeleteFunc(want, func(_ views.Key, value []byte) bool { return value == nil })
	for _, name := range bus.Views {
		b, err := j.w.server.Bucket(context.Background(), name)
		if err != nil {
			j.breach("views", "%v", err)
			return
		}
		entries, err := b.All(context.Background())
		if err != nil {
			j.breach("views", "%v", err)
			return
		}
		for _, e := range entries {
			key := views.Key{Bucket: name, Key: e.Key}
			if !bytes.Equal(timeless(want[key]), timeless(e.Value)) {
				j.breach("views", "%s/%s is %s, and the log says %s", name, e.Key, e.Value, want[key])
				return
			}
			delete(want, key)
		}
		if name == bus.BucketOperations {
			j.operationsShown(entries)
		}
	}
	for key := range want {
		j.breach("views", "%s/%s is missing", key.Bucket, key.Key)
		return
	}
}

// timeless is a view without the place in the log at which it was written: one that says the same is not written again.
func timeless(view []byte) []byte {
	i := bytes.LastIndex(view, []byte(`,"sequence":`))
	return view[:max(i, 0)]
}

// lost follows the loss of a stream: what it held counts no more.
func (j *judge) lost(stream bus.Stream) {
	switch stream {
	case bus.Commands:
		clear(j.sent)
	case bus.Orders:
		clear(j.decided)
		j.mark = 0
	case bus.Log, bus.Statuses, bus.Metrics:
	}
}

// reread begins anew with the log as it is now.
func (j *judge) reread() {
	j.forget()
	j.rewound, j.rereading = true, true
	defer func() { j.restored, j.rereading = true, false }()
	c := j.w.server.Cursor(bus.Log, 1)
	for {
		page, _ := c.Next(waiting)
		if len(page) == 0 {
			return
		}
		j.logged(page)
	}
}
