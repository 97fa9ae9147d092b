package coordinator

import (
	"errors"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/projections"
)

// ensureGroup lets one command hold several services, once it has checked that each can change as the command asks. Otherwise
// it returns an error that names the service in the way. The services change later, with their stages.
func (t *Turn) ensureGroup(r events.Request, id events.GroupID, c events.GroupEnsure) error {
	for _, name := range c.Names() {
		if err := t.unseen(id.Member(name), c.IfSeq); err != nil {
			return err
		}
		if _, err := t.memberChanges(id.Member(name), c.Services[name]); err != nil {
			return events.InMember(name, err)
		}
	}
	earlier, err := t.inTheWay(id, c)
	if err != nil {
		return err
	}
	if n := t.grouped(earlier) + len(c.Services); n > events.MaxGrouped {
		return events.Reject(events.CodeOutOfRange, "services",
			"groups that have not ended would have %d services, and may have at most %d: wait for some of them to end", n, events.MaxGrouped)
	}
	t.supersede(r, earlier, nil)
	t.emit(r.Scope, events.CommandAccepted{CommandIdentity: r.Identity(), Unchanged: t.changesNothing(id, c)})
	t.emit(r.Scope, events.GroupStarted{Command: r.Sequence, Services: c.Services, Stages: t.stages(id, c)})
	t.work.addAll(t.Cluster.Groups[r.Sequence].Members())
	return nil
}

// grouped counts the services of the groups that have not ended. It leaves out the groups of the commands in without, which end
// now.
func (t *Turn) grouped(without []uint64) int {
	n := 0
	for command, g := range t.Cluster.Groups {
		if !slices.Contains(without, command) {
			n += len(g.Services)
		}
	}
	return n
}

// changesNothing reports whether the services' targets already are what the command asks for.
func (t *Turn) changesNothing(id events.GroupID, c events.GroupEnsure) bool {
	for _, name := range c.Names() {
		if changes, err := t.memberChanges(id.Member(name), c.Services[name]); len(changes) > 0 || err != nil {
			return false
		}
	}
	return true
}

// memberChanges returns the events by which the group's command changes the service's target, or an error that says why it may
// not.
func (t *Turn) memberChanges(id events.ServiceID, m events.GroupMember) ([]events.Data, error) {
	s := t.Cluster.Services[id]
	if s != nil && s.Job != nil && !s.Dropped {
		return nil, events.Reject(events.CodeInvalidValue, "mode",
			"service %s is a job, which cannot be rolled back when another service fails: drop it first, or leave it out", id)
	}
	if err := t.knows(m.Spec); err != nil {
		return nil, err
	}
	if err := whileSuspended(s, m.Ensure()); err != nil {
		return nil, err
	}
	return t.ensure(s, m.Ensure())
}

// inTheWay returns the commands that the group's command supersedes, or an error if it may not supersede them. A group of the
// same name counts as in the way, whichever services it has.
func (t *Turn) inTheWay(id events.GroupID, c events.GroupEnsure) (earlier []uint64, err error) {
	if g := t.Cluster.GroupNamed(id); g != nil {
		if c.Busy != events.BusySupersede {
			return nil, &busyError{whom: "group " + id.String(), holder: g.Command, verb: t.Cluster.Commands[g.Command].Verb, alone: true}
		}
		earlier = append(earlier, g.Command)
	}
	for _, name := range c.Names() {
		member := id.Member(name)
		holder, queue := t.Cluster.HolderOf(member), t.Cluster.Queues[member]
		if holder == 0 && len(queue) == 0 {
			continue
		}
		if c.Busy != events.BusySupersede {
			return nil, t.busyAlone(member, holder, queue)
		}
		earlier = append(earlier, unended(holder, queue)...)
	}
	slices.Sort(earlier)
	earlier = slices.Compact(earlier)
	if needed := t.toEnd(earlier); needed > MaxPerInput {
		return nil, events.Reject(events.CodeOutOfRange, "busy",
			"%d commands have not ended, too many for one command to supersede: wait for some of them, or supersede them one by one", len(earlier))
	}
	return earlier, nil
}

// toEnd returns an upper bound for the number of events that end the commands.
func (t *Turn) toEnd(sequences []uint64) int {
	const perMember, perCommand = 2, 2
	needed := perCommand
	for _, sequence := range sequences {
		needed += perCommand
		if g := t.Cluster.Groups[sequence]; g != nil {
			needed += perMember * len(g.Services)
		}
	}
	return needed
}

// busyAlone is busy for a command that cannot wait in a queue.
func (t *Turn) busyAlone(id events.ServiceID, holder uint64, queue []events.CommandQueued) error {
	err := t.busy(id, holder, queue, events.BusyReject)
	var busy *busyError
	if errors.As(err, &busy) {
		busy.alone = true
	}
	return err
}

// stages returns the order in which the services change. Services that scale to zero stop first, each after those that start
// after it. All others follow their levels.
func (t *Turn) stages(id events.GroupID, c events.GroupEnsure) [][]string {
	levels, _ := c.Levels()
	return stagesOf(levels, func(name string) bool {
		s, scale := t.Cluster.Services[id.Member(name)], c.Services[name].Scale
		return s != nil && !s.Dropped && s.Scale > 0 && scale != nil && *scale == 0
	})
}

// stagesOf puts the levels into order: first those that stop, from the last level to the first, then the others, from the first
// to the last.
func stagesOf(levels [][]string, stops func(name string) bool) [][]string {
	var down, up [][]string
	for _, level := range levels {
		var stop, rest []string
		for _, name := range level {
			if stops(name) {
				stop = append(stop, name)
			} else {
				rest = append(rest, name)
			}
		}
		if len(stop) > 0 {
			down = append(down, stop)
		}
		if len(rest) > 0 {
			up = append(up, rest)
		}
	}
	slices.Reverse(down)
	return append(down, up...)
}

// cancelGroup makes a group that has not ended go back.
func (t *Turn) cancelGroup(r events.Request, id events.GroupID, _ events.GroupCancel) error {
	g := t.Cluster.GroupNamed(id)
	if g == nil {
		return events.Reject(events.CodeNotFound, "subject", "no command to group %s is under way: it has ended, or none was sent", id)
	}
	t.emit(r.Scope, events.CommandAccepted{CommandIdentity: r.Identity(), Unchanged: g.Aborted != ""})
	cause := t.cause
	t.cause = t.cause.Of(t.Cluster.Commands[g.Command].Cause)
	t.abort(g, "", "it was cancelled by command "+utoa(r.Sequence))
	t.cause = cause
	t.emit(r.Scope, events.CommandSucceeded{Sequence: r.Sequence})
	return nil
}

// dissolve ends a group at once, because its command ends. The services that have changed go back in one round, except those in
// taken: the next command changes these. The group may be nil.
func (t *Turn) dissolve(g *projections.Group, outcome events.GroupOutcome, taken []events.ServiceID) {
	if g == nil {
		return
	}
	reached := g.Reached()
	slices.Reverse(reached) // a service goes back before those of earlier stages
	t.emit(events.GroupScope(g.ID), events.GroupEnded{Command: g.Command, Outcome: outcome, Services: g.Names()})
	for _, id := range reached {
		if !slices.Contains(taken, id) {
			t.restore(g, id)
		}
	}
	t.work.addAll(g.Members())
}
