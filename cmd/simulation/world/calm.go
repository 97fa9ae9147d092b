package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// calm is since when nothing is broken or breaks, and since when what the log says of an instance is not what its engine
// has.
type calm struct {
	since  time.Time
	faults int
	unlike map[events.InstanceID]time.Time
	// read are the processes that have read the whole log since.
	read map[*client]bool
}

// mendsWithin is how long a house in which nothing is broken may take for what a fault has left behind: the longest
// back-off, and the steps after it.
const mendsWithin = 3 * time.Minute

// calm returns for how long nothing has been broken.
func (j *judge) calm() time.Duration {
	c := &j.quiet
	faults, now := 0, time.Now()
	for _, n := range j.w.result.Faults {
		faults += n
	}
	if faults != c.faults || j.w.troubled() || c.unlike == nil {
		*c = calm{since: now, faults: faults, unlike: map[events.InstanceID]time.Time{}, read: map[*client]bool{}}
	}
	return now.Sub(c.since)
}

// checkCalm holds the log to be what the engines have once nothing has been broken for long.
func (j *judge) checkCalm() {
	if j.calm() == 0 {
		return
	}
	c, now := &j.quiet, time.Now()
	for _, i := range j.cluster.present {
		if !j.outdated(i) {
			delete(c.unlike, i.id)
			continue
		}
		if c.unlike[i.id].IsZero() {
			c.unlike[i.id] = now
		}
		if lasts := now.Sub(c.unlike[i.id]); lasts > mendsWithin {
			j.breach("P9", "%s is %s for %s in which nothing was broken, and its engine has another thing", i.id, i, lasts)
			return
		}
	}
}

// outdated reports whether the log says of the instance what its engine does not have: it runs and does not serve, or
// is gone and not removed.
func (j *judge) outdated(i *instance) bool {
	h := j.w.hosts[i.node]
	if h == nil {
		return false
	}
	there, running := h.holds(i.id)
	if i.retired {
		return !there || running
	}
	return running && i.seen.Phase != events.PhaseOnline
}

// troubled reports whether anything is broken now.
func (w *World) troubled() bool {
	return w.troubledBesideEngines() || slices.ContainsFunc(slices.Collect(maps.Values(w.hosts)), func(h *host) bool { return len(h.troubles) > 0 })
}

// troubledBesideEngines reports whether anything is broken now but engines.
func (w *World) troubledBesideEngines() bool {
	if w.full {
		return true
	}
	for _, l := range w.links {
		if l.cut || l.slow > 0 || l.leaky > 0 {
			return true
		}
	}
	for _, p := range w.parts {
		if p.name != operatorName && (!p.alive() || p.client.frozen.Load() || p.clock.Load() != 0) {
			return true
		}
	}
	for _, b := range w.images {
		if b == sick {
			return true
		}
	}
	for _, h := range w.hosts {
		if h.deaf {
			return true
		}
	}
	return false
}
