package projections

import (
	"fmt"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections/barrier"
)

// judge says of a slot whether it is done with the phase, and why it never will be, where that is so.
type judge func(ordinal uint32) (reached bool, broken string)

// phase is a wave's phase at a time.
type phase struct {
	cluster *Cluster
	service *Service
	op      *Operation
	update  events.Update
	now     time.Time
}

// Verdict says whether the wave of the service's operation is done with its phase at this time. Nobody waits for slots that
// there are no more, or that are given up.
func (c *Cluster) Verdict(s *Service, now time.Time) barrier.Verdict {
	p := phase{cluster: c, service: s, op: s.Operation, update: s.Current().Spec.Updates(), now: now}
	judged := p.judge()
	if judged == nil {
		return barrier.Judge(nil)
	}
	var all []barrier.Participant
	for _, o := range p.op.Slots {
		if o < s.Scale && int(o) < len(s.Slots) && !slices.Contains(p.op.GivenUp, o) {
			participant := barrier.Participant{Ordinal: o}
			participant.Reached, participant.Broken = judged(o)
			all = append(all, participant)
		}
	}
	return barrier.Judge(all)
}

// judge returns how slots are judged in the phase; nil for the time without a wave.
func (p phase) judge() judge {
	switch p.op.Phase {
	case events.OperationStart:
		return p.started
	case events.OperationRetire:
		return p.retired
	case events.OperationMonitor:
		return p.watched
	case events.OperationPromote:
		return func(uint32) (bool, string) { return p.op.Promoted, "" }
	case events.OperationDelay:
		return func(uint32) (bool, string) { return p.lasted(p.update.Delay), "" }
	case events.OperationWait:
	}
	return nil
}

// lasted reports whether the phase has lasted for as long.
func (p phase) lasted(d events.Duration) bool {
	return !p.now.Before(p.op.Entered.Add(time.Duration(d)))
}

// started judges a slot whose next instance is to serve for as long as counts.
func (p phase) started(ordinal uint32) (bool, string) {
	least := time.Duration(*p.update.MinHealthy)
	since, serves := p.op.Serves[ordinal]
	if serves && !p.now.Before(since.Add(least)) {
		return true, ""
	}
	return false, p.late(fmt.Sprintf("it has not served for %s", least))
}

// retired judges a slot of whose instances before nothing is to be left, as far as nodes that are heard tell.
func (p phase) retired(ordinal uint32) (bool, string) {
	slot := p.service.Slots[ordinal]
	remains := func(i *Instance) bool { return !p.service.UpToDate(i) && p.cluster.Nodes[i.Node].Heard() }
	if (slot.Current == nil || p.service.UpToDate(slot.Current)) && !slices.ContainsFunc(slot.Leaving, remains) {
		return true, ""
	}
	return false, p.late("what it had before is not gone")
}

// watched judges a slot that is to serve throughout.
func (p phase) watched(ordinal uint32) (bool, string) {
	if since, serves := p.op.Serves[ordinal]; !serves || since.After(p.op.Entered) {
		return false, "it did not serve throughout the time in which it was watched"
	}
	return p.lasted(p.update.Monitor), ""
}

// late says what is missing once the phase has lasted for too long; "" before.
func (p phase) late(missing string) string {
	if !p.lasted(p.update.HealthyDeadline) {
		return ""
	}
	return fmt.Sprintf("%s within %s", missing, time.Duration(p.update.HealthyDeadline))
}

// Until returns when the phase of the service's operation ends, or else what it waits for has failed; the zero time where it
// waits for people or nodes.
func (s *Service) Until() time.Time {
	lasts := s.Current().Spec.Updates().Lasts(s.Operation.Phase)
	if lasts == 0 {
		return time.Time{}
	}
	return s.Operation.Entered.Add(lasts)
}
