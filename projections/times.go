package projections

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

// Moment is a time of the log in milliseconds since 1970; 0 for none.
type Moment int64

func momentOf(t time.Time) Moment { return Moment(t.UnixMilli()) }

// Time returns it as a time; the zero time for none.
func (m Moment) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Times are when things happened to an instance.
type Times struct {
	// Created is when its slot came to lack it, Scheduled when it got its node.
	Created   Moment
	Scheduled Moment
	// Started is when its process was first seen to run, or to have run, and Restarted when it was last seen to run again after
	// an end. Served is since when it serves, or did last.
	Started   Moment `json:",omitzero"`
	Restarted Moment `json:",omitzero"`
	Served    Moment `json:",omitzero"`
}

// saw follows what is seen of the instance, which was seen at a position before.
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

// steady reports whether the instance had served for so long that what was before is forgotten.
func (i *Instance) steady(now time.Time) bool {
	return i.Times.Served != 0 && now.Sub(i.Times.Served.Time()) >= events.SteadyAfter
}

// Growth says since when the slots from an ordinal on are to be there.
type Growth struct {
	From uint32
	At   Moment
}

// grow notes that the slots from an ordinal on are asked for, as there are none above it yet.
func (s *Service) grow(from uint32, now time.Time) {
	for len(s.Grown) > 0 && s.Grown[len(s.Grown)-1].From >= from {
		s.Grown = s.Grown[:len(s.Grown)-1]
	}
	s.Grown = append(s.Grown, Growth{From: from, At: momentOf(now)})
}

// Lacking is since when the slot lacks its next instance: since the one before was retired, or else since its service was scaled to have
// it, resumed, or had its next run; none where that is not known.
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
