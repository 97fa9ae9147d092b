package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// sayMore has people ask for more in what they say anyhow, and has what they made fail.
func (d *drawer) sayMore() {
	d.beforeStops()
	d.crashing()
	d.exclusives()
}

// crashing has people of some plans say how often instances are restarted on a node, in what they say anyhow, and images crash now
// and then.
func (d *drawer) crashing() {
	const share, often, mean, lasts = 2, 2, 15 * time.Minute, 20 * time.Minute
	if d.IntN(share) > 0 {
		return
	}
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind != Command || !strings.HasSuffix(a.Subject, ".ensure") || strings.Contains(a.Body, `"restart"`) || d.IntN(often) > 0 {
			continue
		}
		window := []string{"", `,"window":"10m"`}[d.IntN(2)]
		a.Body = strings.Replace(a.Body, `"image":`,
			fmt.Sprintf(`"restart":{"delay":"%ds","max_delay":"2m","attempts":%d%s},"image":`, 1+d.IntN(20), 1+d.IntN(3), window), 1)
	}
	for at := d.soon(mean); at < d.plan.Lasts; at += d.soon(mean) {
		d.plan.Actions = append(d.plan.Actions, Action{At: at, Kind: BadImage, For: d.soon(lasts), N: d.IntN(len(images))})
	}
}

// crash is how often in a row the instances of a slot have used up their restarts.
type crash struct {
	revision uint64
	moves    int
	// node is where the last did, and at when it was retired; waits says that the slot has had no other since.
	node  string
	at    time.Time
	waits bool
}

// ends follows an instance that ended: what has served for five minutes is in no crash loop.
func (s *service) ends(i *instance, seen events.InstanceSeen, at time.Time) {
	again := seen.Attempt != i.seen.Attempt
	if seen.Phase == events.PhaseOnline && (again || i.seen.Phase != events.PhaseOnline) {
		i.lasted = at
	}
	c := s.crashes[i.id.Ordinal]
	if c == nil || i.retired || seen.Phase != events.PhaseOffline || !ran(seen.Reason) || (!again && i.seen.Phase == events.PhaseOffline) {
		return
	}
	if c.revision != i.revision || (!i.lasted.IsZero() && at.Sub(i.lasted) >= 5*time.Minute) {
		delete(s.crashes, i.id.Ordinal)
	}
}

// ran reports whether what is said is that a container ran and ended, or was ended.
func ran(reason events.OfflineReason) bool {
	return slices.Contains([]events.OfflineReason{
		events.OfflineExited, events.OfflineOOMKilled, events.OfflineOverDisk, events.OfflineUnhealthy, events.OfflineInitFailed,
	}, reason)
}

// crashed holds an instance that goes because of a crash loop to have used up its restarts, and no operation to go by it.
func (k *knowledge) crashed(j *judge, i *instance, reason events.RetireReason) {
	s, o := k.service(i.id.Service), i.id.Ordinal
	if reason == events.RetireScaledDown || reason == events.RetireDropped || reason == events.RetireSuspended {
		delete(s.crashes, o)
	}
	if reason != events.RetireCrashLooping {
		return
	}
	if !i.spent || s.isJob() {
		j.breach("crashes", "%s goes because of a crash loop, and is %s", i.id, i)
	}
	if s.judges(o) {
		j.breach("crashes", "%s goes because of a crash loop, and its wave is to say what follows", i.id)
	}
	c := s.crashes[o]
	if c == nil || c.revision != i.revision {
		c = &crash{revision: i.revision}
	}
	c.moves, c.node, c.at, c.waits = c.moves+1, i.node, j.at, true
	s.crashes[o] = c
}

// judges reports whether the service's operation goes by the slot.
func (s *service) judges(ordinal uint32) bool {
	together := s.op != nil && (s.op.kind == events.OperationRescale || s.op.kind == events.OperationSnapshot || s.op.kind == events.OperationSuspend)
	return together || (s.op != nil && slices.Contains(s.op.slots, ordinal))
}

// until is when the slot may have its next instance; zero where it need not wait for that.
func (s *service) until(ordinal uint32) time.Time {
	c := s.crashes[ordinal]
	if c == nil || !c.waits || c.revision != s.target(ordinal) {
		return time.Time{}
	}
	r := s.specs[c.revision].Restarts()
	delay := time.Duration(r.Delay)
	for range c.moves - 1 {
		delay = min(2*delay, time.Duration(r.MaxDelay))
	}
	return c.at.Add(delay)
}

// begunAgain holds the next instance of a slot whose last one used up its restarts to come in its time, and elsewhere where it can.
func (k *knowledge) begunAgain(j *judge, id events.InstanceID, node string) {
	s := k.service(id.Service)
	c := s.crashes[id.Ordinal]
	if c == nil || !c.waits {
		return
	}
	at, crashedOn := s.until(id.Ordinal), s.crashedOn(id.Ordinal)
	c.waits = false
	if at.IsZero() {
		return
	}
	if j.at.Before(at) {
		j.breach("crashes", "%s is placed %s before its slot may be tried again", id, at.Sub(j.at))
	}
	if node != crashedOn {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(k.nodes)) {
		if other != node && k.againstSlot(id, other, nil) == "" {
			j.breach("crashes", "%s is placed on %s, where the one before used up its restarts, and %s could have it", id, node, other)
		}
	}
}

// leftToCrash holds a leader to have slots tried again whose instances used up their restarts.
func (k *knowledge) leftToCrash(j *judge, id events.ServiceID, epoch uint64, now time.Time) {
	s := k.services[id]
	stays := ""
	if s.revision > 0 && !s.isJob() && !s.dropped && s.rest == nil && s.op == nil {
		stays = k.crashLeft(id, now)
	}
	switch {
	case stays == "":
		s.crashLate = late{}
	case s.crashLate.left(epoch, now):
		j.breach("crashes", "%s, and that for %d rounds", stays, s.crashLate.rounds)
	}
}

// crashLeft says what is left undone of the service's crash loops, or "".
func (k *knowledge) crashLeft(id events.ServiceID, now time.Time) string {
	s, moves, leaves := k.services[id], map[uint32]bool{}, map[uint32]bool{}
	for _, i := range k.of(id) {
		moves[i.id.Ordinal] = moves[i.id.Ordinal] || (!i.retired && i.replaces > 0)
		leaves[i.id.Ordinal] = leaves[i.id.Ordinal] || i.retired
	}
	for _, i := range k.of(id) {
		if i.spent && i.runs() && !i.lost && i.id.Ordinal < s.span() && !moves[i.id.Ordinal] {
			return i.id.String() + " has used up its restarts and stays"
		}
	}
	for _, o := range k.empty(id) {
		if at := s.until(o); !at.IsZero() && !now.Before(at) && !leaves[o] && k.room(id, o) {
			return fmt.Sprintf("%s/%d may be tried again, and a node could have it", id, o)
		}
	}
	return ""
}

// mayHave returns those of the slots that may have an instance now, as far as crash loops go.
func (s *service) mayHave(slots []uint32, now time.Time) []uint32 {
	return slices.DeleteFunc(slots, func(o uint32) bool { return now.Before(s.until(o)) })
}

// crashedOn returns the node on which the slot's last instance used up its restarts, and that its next one is not to be on; "" for none.
func (s *service) crashedOn(ordinal uint32) string {
	if s.until(ordinal).IsZero() || s.specs[s.revision].Global() {
		return ""
	}
	return s.crashes[ordinal].node
}

// leftForPeople reports whether the instance used up its restarts in a wave of an operation that waits for people: these decide.
func (k *knowledge) leftForPeople(i *instance) bool {
	s := k.service(i.id.Service)
	return i.spent && s.waitsForPeople() && slices.Contains(s.op.slots, i.id.Ordinal)
}
