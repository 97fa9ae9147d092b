package world

import "github.com/rookery-project/rookery/events"

// moves is what the log says of a rebalancing.
type moves struct {
	terms events.RebalanceTerms
	begun events.Moves
	// moving is the last successor.
	moving events.InstanceID
	// failed says that a successor did not come to serve.
	failed bool
}

// moved holds a move to be one that was asked for, of an instance that serves, one at a time.
func (k *knowledge) moved(j *judge, id events.InstanceID, d events.InstancePlaced) {
	before := k.instances[events.InstanceID{Service: id.Service, Ordinal: id.Ordinal, Generation: d.Replaces}]
	switch {
	case k.moves == nil || k.moves.begun == k.moves.terms.MaxMoves:
		j.breach("moves", "%s moves to %s, and nobody asked for it", id, d.Node)
		return
	case k.moves.failed:
		j.breach("moves", "%s moves to %s after a move that failed", id, d.Node)
	case before == nil || before.retired || before.removed || before.seen.Phase != events.PhaseOnline:
		j.breach("moves", "%s is to succeed generation %d, which is %s", id, d.Replaces, before)
		return
	case d.Choice == nil || before.node == d.Node:
		j.breach("moves", "%s moves from %s to %s without a reason", id, before.node, d.Node)
	case k.service(id.Service).specs[d.Revision].Exclusive:
		j.breach("moves", "%s moves, and is exclusive", id)
	case volumes(k.service(id.Service).specs[d.Revision]) && !k.moves.terms.Volumes:
		j.breach("moves", "%s moves, and leaves its volumes behind", id)
	}
	for _, i := range k.present {
		before := k.instances[events.InstanceID{Service: i.id.Service, Ordinal: i.id.Ordinal, Generation: i.replaces}]
		if i.replaces > 0 && !i.retired && k.service(i.id.Service).op == nil && !k.drains(before) {
			j.breach("moves", "%s moves while %s does", id, i.id)
		}
	}
	k.moves.begun++
	k.moves.moving = id
	k.fitting(j, id, d, before)
	k.hold(j, id.Service, d)
}

// succeeds holds an instance that moves to go once its successor serves, and not before.
func (k *knowledge) succeeds(j *judge, i *instance, reason events.RetireReason) {
	next := k.next(i)
	k.emptied(j, i, next, reason)
	switch {
	case reason == events.RetireMoved && (next == nil || next.seen.Phase != events.PhaseOnline):
		j.breach("moves", "%s is retired, and no other one serves in its place", i.id)
	case reason == events.RetireMoveFailed && i.replaces == 0:
		j.breach("moves", "%s is retired as one that was to succeed another, and it was not", i.id)
	case reason == events.RetireMoveFailed && k.moves != nil && k.moves.moving == i.id:
		k.moves.failed = true
	}
	k.follows(i)
}

// next returns the instance that is to succeed the other, or nil.
func (k *knowledge) next(i *instance) *instance {
	for _, o := range k.of(i.id.Service) {
		if o.id.Ordinal == i.id.Ordinal && o.replaces == i.id.Generation && !o.retired {
			return o
		}
	}
	return nil
}

// follows has what is to succeed an instance take its place.
func (k *knowledge) follows(i *instance) {
	if next := k.next(i); next != nil {
		next.replaces = 0
		k.service(i.id.Service).settle(next)
	}
}

// leavesVolumes reports whether slots may move without their volumes now.
func (k *knowledge) leavesVolumes() bool { return k.moves != nil && k.moves.terms.Volumes }
