package world

import (
	"maps"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
)

// draining is what the log says of a node that is to have nothing.
type draining struct {
	until  time.Time
	forced bool // something had to stop at the deadline
	done   bool
	late   late
}

// drainGrace is the least time from the deadline of a drain until its command fails, and drainSlack what it may take longer.
const (
	drainGrace = 2 * time.Minute
	drainSlack = time.Minute
)

// drains reports whether the node of the instance is drained.
func (k *knowledge) drains(i *instance) bool {
	return i != nil && k.nodes[i.node] != nil && k.nodes[i.node].drain != nil
}

// evacuates holds the successor of an instance whose node is drained to be one that comes beside it, alone.
func (k *knowledge) evacuates(j *judge, id events.InstanceID, d events.InstancePlaced, before *instance) {
	s := k.service(id.Service)
	switch {
	case before.retired || before.removed:
		j.breach("drain", "%s is to succeed %s, which is %s", id, before.id, before)
	case !s.upToDate(before) || s.isJob() || s.specs[s.revision].Global():
		j.breach("drain", "%s is to succeed %s, which goes in another way", id, before.id)
	case d.Choice == nil || before.node == d.Node:
		j.breach("drain", "%s comes from %s to %s without a reason", id, before.node, d.Node)
	}
	for _, i := range k.of(id.Service) {
		if i.id.Ordinal == id.Ordinal && i.replaces > 0 && !i.retired {
			j.breach("drain", "%s is placed beside %s, which is to succeed, too", id, i.id)
		}
	}
	k.leaves = before
	k.fitting(j, id, d, nil)
	k.leaves = nil
	k.hold(j, id.Service, d)
}

// emptied holds an instance that goes because of a drain to go only once another serves for it, where there can be two of it at once;
// by force it goes at the deadline, and not before.
func (k *knowledge) emptied(j *judge, i, next *instance, reason events.RetireReason) {
	n := k.machine(i.node)
	if reason == events.RetireDrained {
		k.followed(j, i, next)
	}
	if reason == events.RetireMoveUndone && i.replaces == 0 {
		j.breach("drain", "%s goes as a successor, and is none", i.id)
	}
	if reason != events.RetireDrainForced {
		return
	}
	if n.drain == nil || j.at.Before(n.drain.until) {
		j.breach("drain", "%s is forced from %s before the deadline", i.id, i.node)
		return
	}
	n.drain.forced = true
}

// followed holds an instance that goes before the deadline to have been followed, unless it is alone.
func (k *knowledge) followed(j *judge, i, next *instance) {
	s := k.service(i.id.Service)
	alone := false
	for _, spec := range []events.Spec{s.specs[s.revision], s.specs[i.revision]} {
		alone = alone || spec.Global() || volumes(spec) || spec.Topology != nil || spec.Exclusive
	}
	switch {
	case k.machine(i.node).drain == nil:
		j.breach("drain", "%s goes, as if %s were drained", i.id, i.node)
	case i.replaces > 0 || i.away || alone:
	case next == nil || next.seen.Phase != events.PhaseOnline:
		j.breach("drain", "%s goes as %s is drained, and nobody serves in its place", i.id, i.node)
	case j.at.Sub(next.serves) < time.Duration(*s.specs[s.revision].Updates().MinHealthy):
		j.breach("drain", "%s goes as %s is drained, and what follows has served for %s", i.id, i.node, j.at.Sub(next.serves))
	}
}

// leaving follows what is said of a node that is drained or forgotten.
func (k *knowledge) leaving(j *judge, name string, d events.Data) {
	n := k.machine(name)
	switch d := d.(type) {
	case events.NodeDraining:
		n.drain = &draining{until: d.Until}
	case events.NodeDrained:
		if n.drain == nil || n.drain.done || n.drain.forced != d.Forced || k.has(name) > 0 || len(n.strays) > 0 {
			j.breach("drain", "%s is said to be drained (forced: %t), and has %d instances and %d strays", name, d.Forced, k.has(name), len(n.strays))
			return
		}
		n.drain.done = true
	case events.NodeForgotten:
		if n.epoch > 0 && !n.silent {
			j.breach("forget", "%s is forgotten, and is heard", name)
		}
		n.forgotten, n.drain = true, nil
		for _, s := range k.services {
			for ordinal, home := range s.homes {
				if home == name {
					delete(s.homes, ordinal)
				}
			}
			delete(s.failed, name)
		}
	case events.NodeRemoved:
		if !n.forgotten || d.Epoch != n.epoch || k.has(name) > 0 || len(n.strays) > 0 {
			j.breach("forget", "%s is removed in epoch %d, and has %d instances and %d strays", name, d.Epoch, k.has(name), len(n.strays))
		}
		k.floor = max(k.floor, d.Epoch)
		delete(k.nodes, name)
	case events.StrayForgotten:
		delete(n.strays, d.ID())
	}
}

// forced holds a leader to have everything on a drained node stop at the deadline.
func (k *knowledge) forced(j *judge, epoch uint64, now time.Time) {
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		n := k.nodes[name]
		if n.drain == nil {
			continue
		}
		stays := slices.ContainsFunc(k.present, func(i *instance) bool { return i.node == name && !i.retired })
		switch {
		case !stays || now.Before(n.drain.until):
			n.drain.late = late{}
		case n.drain.late.left(epoch, now):
			j.breach("drain", "%s has instances that are not told to stop, and its deadline was %s", name, n.drain.until)
		}
	}
}

// has counts the instances of a node that are not removed.
func (k *knowledge) has(node string) (count int) {
	for _, i := range k.present {
		if i.node == node {
			count++
		}
	}
	return count
}

// goneWith follows an instance that is forgotten with its node.
func (k *knowledge) goneWith(j *judge, id events.InstanceID, d events.InstanceForgotten) {
	i := k.instances[id]
	if i == nil || i.removed || i.node != d.Node || !k.machine(d.Node).forgotten {
		j.breach("forget", "%s is forgotten with %s, and the log has it %s", id, d.Node, i)
		return
	}
	if s := k.service(id.Service); !i.retired {
		k.follows(i)
		if s.op != nil && s.upToDate(i) {
			delete(s.op.serves, id.Ordinal)
		}
		s.job.moved = j.at
		i.retired = true
	}
	i.forgotten = true
	k.remove(i)
}

// nodeFate follows the end of a command to a node that lasts.
func (k *knowledge) nodeFate(j *judge, node string, now time.Time, d events.Fate) {
	n, f := k.nodes[node], k.commands[d.Fated()]
	if f == nil || !f.accepted {
		return
	}
	f.node = node
	switch d := d.(type) {
	case events.CommandSucceeded:
		if (f.verb == "drain" && (n == nil || n.drain == nil || !n.drain.done)) || (f.verb == "forget" && n != nil) {
			j.breach("drain", "command %d, %s of %s, has succeeded and is not done", d.Sequence, f.verb, node)
		}
	case events.CommandFailed:
		if d.Reason == events.ReasonDrainDeadline && (n == nil || n.drain == nil || now.Before(n.drain.until.Add(drainGrace))) {
			j.breach("drain", "command %d has failed at the deadline of a drain that is not over", d.Sequence)
		}
	}
}
