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

// mostSaid bounds in bytes what is said of a failure.
const mostSaid = 512

// isolate finds, after a round that cannot be decided or stored, the one unit that is to blame, and makes the state again from the log. The
// next round leaves that unit alone. Of a round that is too large nobody knows whose events are: half as many units are tried.
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

// growsTo bounds of how many units a round may have events; 0 for any number.
func growsTo(units int) int {
	if units > coordinator.MaxEvents {
		return 0
	}
	return units
}

// blamedInput returns the unit of the input of this sequence, and why it is not to be decided; "" where it is.
func (l *leader) blamedInput(work events.Work, sequence uint64) (unit events.Unit, why string) {
	for unit, why := range l.blamed {
		if unit.Work == work && unit.Sequence == sequence {
			return unit, why
		}
	}
	return events.Unit{}, ""
}

// shunStatus skips a status that a round failed on. What it said is lost, so its node is asked for all that it has; not where it was of that
// list itself, for the node would say the same again.
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

// forgive forgets the units of which the log says that they are left alone, and the inputs that were decided.
func (l *leader) forgive() {
	maps.DeleteFunc(l.blamed, func(unit events.Unit, _ string) bool {
		return l.cluster.Shuns(unit) || (unit.Work == events.WorkCommand && unit.Sequence <= l.cursors.commands) ||
			(unit.Work == events.WorkStatus && unit.Sequence <= l.cursors.statuses)
	})
}

// parseAnyway reads what can be read of a command that may be the one that parsing itself fails on.
func parseAnyway(m events.Message) (r events.Request) {
	defer func() {
		if recover() != nil {
			r = events.Request{Sequence: m.Sequence, Scope: events.ClusterScope}
		}
	}()
	return events.ParseRequest(m)
}

// refold makes the state again from the log, which must end where this leader closed its last round.
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
	l.agenda = l.agenda.Rebuilt(l.cluster)
	return nil
}
