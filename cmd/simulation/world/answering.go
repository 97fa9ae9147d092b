package world

import (
	"maps"
	"slices"
	"time"
)

// toldWithin is how long a node may take to say that its engine answers no more, or again, in a house in which nothing else is
// broken: the time to the next look, the answer time twice, and the way to the log.
const toldWithin = time.Minute

// answering is since when engines are as they are and nothing else is broken.
type answering struct {
	since time.Time
	// faults counts what has gone wrong so far, engines what is wrong with them now.
	faults, engines int
}

// answers takes a node's word on its engine. It must say another thing than before, and be later.
func (m *machine) answers(j *judge, name string, does bool, epoch, counter uint64) {
	if m.degraded == !does || epoch != m.epoch || counter <= m.word {
		j.breach("nodes", "%s is said to have an engine that answers: %t (%d of epoch %d), and was known as degraded: %t (%d of epoch %d)",
			name, does, counter, epoch, m.degraded, m.word, m.epoch)
	}
	m.degraded, m.word = !does, counter
}

// checkAnswers holds the log to have a node as degraded whose engine lists nothing for long, and no other.
func (j *judge) checkAnswers() {
	a, faults, now := &j.answering, 0, time.Now()
	for _, n := range j.w.result.Faults {
		faults += n
	}
	engines := 0 // that are broken
	for _, h := range j.w.hosts {
		engines += len(h.troubles)
	}
	if a.since.IsZero() || faults != a.faults || engines != a.engines || j.w.troubledBesideEngines() {
		*a = answering{now, faults, engines}
	}
	if now.Sub(a.since) < toldWithin {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(j.w.hosts)) {
		h, m := j.w.hosts[name], j.cluster.machine(name)
		switch refuses := h.wrong(List) == EngineRefuses; {
		case m.epoch == 0 || m.silent || now.Sub(m.heardAgain) < toldWithin:
		case refuses && !m.degraded:
			j.breach("nodes", "the engine of %s lists nothing for more than %s, and the log does not have it as degraded", name, toldWithin)
		case len(h.troubles) == 0 && m.degraded:
			j.breach("nodes", "the log has %s as degraded, and its engine answers for more than %s", name, toldWithin)
		}
	}
}
