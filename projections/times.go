package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Moment is a time of the log, in milliseconds since 1970; 0 for none.
type Moment int64

func momentOf(t time.Time) Moment { return Moment(t.UnixMilli()) }

// Time returns it as a time; the zero time for none.
func (m Moment) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Times are the times of an instance's milestones.
type Times struct {
	// Created is when its slot began to lack it. Scheduled is when it was placed on its node.
	Created   Moment
	Scheduled Moment
	// Started is when its node first reported that its process runs, or has run. Restarted is when its node last reported that it runs
	// again after an end. Served is since when it serves, or last served.
	Started   Moment `json:",omitzero"`
	Restarted Moment `json:",omitzero"`
	Served    Moment `json:",omitzero"`
}

// saw notes the times that follow from a report of the instance. The report before it was at position before.
func (t *Times) saw(before events.Position, d events.InstanceSeen, now time.Time) {
	again := before.Attempt != d.Attempt || before.Phase > d.Phase
	running := d.Phase == events.PhaseStarted || d.Phase == events.PhaseOnline
	ran := running || d.Phase == events.PhaseCompleted || (d.Phase == events.PhaseOffline && d.Reason.HasRun())
	switch {
	case ran && t.Started == 0:
		t.Started = momentOf(now)
	case running && (again || before.Phase < events.PhaseStarted):
		t.Restarted = momentOf(now)
	}
	if d.Phase == events.PhaseOnline && (again || before.Phase != events.PhaseOnline) {
		t.Served = momentOf(now)
	}
}

// steady reports whether the instance had served for events.SteadyAfter, so that earlier ends no longer count.
func (i *Instance) steady(now time.Time) bool {
	return i.Times.Served != 0 && now.Sub(i.Times.Served.Time()) >= events.SteadyAfter
}

// Growth says since when the service must have the slots from an ordinal on.
type Growth struct {
	From uint32
	At   Moment
}

// grow notes since when the service must have the slots from this ordinal on. It replaces entries of the same or higher ordinals.
func (s *Service) grow(from uint32, now time.Time) {
	for len(s.Grown) > 0 && s.Grown[len(s.Grown)-1].From >= from {
		s.Grown = s.Grown[:len(s.Grown)-1]
	}
	s.Grown = append(s.Grown, Growth{From: from, At: momentOf(now)})
}

// Lacking returns since when the slot lacks its next instance. That is when its previous instance was retired. Otherwise it is when the
// service was scaled up to the slot, was resumed or began its next run. It is 0 where the log does not say.
func (s *Service) Lacking(ordinal uint32) Moment {
	if int(ordinal) < len(s.Slots) && s.Slots[ordinal].Since != 0 {
		return s.Slots[ordinal].Since
	}
	at := Moment(0)
	for _, g := range s.Grown {
		if g.From <= ordinal {
			at = g.At
		}
	}
	return at
}
