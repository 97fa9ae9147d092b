package runner

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/rookery-project/rookery/coordinator"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
)

// mostSaid bounds the message about a failure, in bytes.
const mostSaid = 512

// isolate runs after a round that cannot be decided or stored. It finds the one unit to blame and builds the state again from the log; the
// next round skips that unit. If the round was too large, the unit to blame is unknown: isolate then halves the number of units a round may
// have.
func (l *leader) isolate(turn *coordinator.Turn, cause error) error {
	unit := turn.Working
	why, _, _ := strings.Cut(cause.Error(), "\n") // the stack is for the log of this process
	if errors.Is(cause, bus.ErrTooLarge) {
		unit, why = largest(turn, l.cluster.LogID()), "its events are larger than the log takes"
	}
	l.Log.Error("a round failed", "unit", unit.String(), "units", turn.Units(), "error", cause)
	units := turn.Units()
	if err := l.refold(); err != nil {
		return err
	}
	switch {
	case errors.Is(cause, bus.ErrTooLarge) && units > 1 && turn.MaxUnits != 1:
		l.maxUnits = units / 2
	case unit.Work == "" || l.blamed[unit] != "":
		return cause
	default:
		l.blamed[unit] = strings.ToValidUTF8(why[:min(len(why), mostSaid)], "")
	}
	return nil
}

// largest returns the unit of the largest record.
func largest(turn *coordinator.Turn, logID string) (unit events.Unit) {
	most := -1
	for i, r := range turn.Records {
		if m, err := r.Message(logID); err == nil && len(m.Body) > most {
			unit, most = turn.UnitOf(i), len(m.Body)
		}
	}
	return unit
}

// growsTo bounds how many units a round may have events of; 0 for any number.
func growsTo(units int) int {
	if units > coordinator.MaxEvents {
		return 0
	}
	return units
}

// blamedInput returns the unit of the input of this sequence, and why it must not be decided; "" if it may be.
func (l *leader) blamedInput(work events.Work, sequence uint64) (unit events.Unit, why string) {
	for unit, why := range l.blamed {
		if unit.Work == work && unit.Sequence == sequence {
			return unit, why
		}
	}
	return events.Unit{}, ""
}

// shunStatus skips a status that a round failed on. Its content is lost, so the node is asked for a list of all that it has. If the status
// was of that list itself, the node is not asked, because it would report the same again.
func (l *leader) shunStatus(turn *coordinator.Turn, m events.Message, unit events.Unit, why string) {
	now := uint64(l.clock.now().UnixNano())
	node, ok := unit.Scope.Node()
	switch {
	case strings.HasSuffix(m.Subject, ".list"):
	case ok:
		l.lists[node] = now
	default:
		l.list = now
	}
	turn.Skip(unit, why)
}

// forgive forgets the blamed units that the log records as skipped, and the inputs that were decided.
func (l *leader) forgive() {
	maps.DeleteFunc(l.blamed, func(unit events.Unit, _ string) bool {
		return l.cluster.Shuns(unit) || (unit.Work == events.WorkCommand && unit.Sequence <= l.cursors.commands) ||
			(unit.Work == events.WorkStatus && unit.Sequence <= l.cursors.statuses)
	})
}

// parseAnyway reads as much as possible of a command on which parsing itself may fail.
func parseAnyway(m events.Message) (r events.Request) {
	defer func() {
		if recover() != nil {
			r = events.Request{Sequence: m.Sequence, Scope: events.ClusterScope}
		}
	}()
	return events.ParseRequest(m)
}

// refold builds the state again from the log, which must end where this leader closed its last round.
func (l *leader) refold() error {
	f, err := l.follow(l.ctx)
	if err != nil {
		return err
	}
	defer f.stop()
	if err := f.catchUp(l.ctx); err != nil {
		return err
	}
	if f.fold.Last() != l.closed {
		return fmt.Errorf("%w: the log ends at %d, not at %d", errLost, f.fold.Last(), l.closed)
	}
	l.cluster, l.leading, l.settled = f.fold.Cluster, true, true
	l.work = l.work.Rebuilt(l.cluster)
	return nil
}
