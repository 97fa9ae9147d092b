package world

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// together reports whether all slots of the service go through the operation's phases at once.
func (op *operation) together() bool {
	return op.kind == events.OperationRescale || op.snapshots()
}

// snapshots reports whether a snapshot is taken, or may be.
func (op *operation) snapshots() bool {
	return op.kind == events.OperationSnapshot || op.kind == events.OperationSuspend
}

// snapshots is what the log says of a service's snapshots.
type snapshots struct {
	// wanted is the sequence of the last request that has not been met, version that of the last snapshot, and since when the spec
	// has them be taken by themselves, or the last was due that was considered.
	wanted  uint64
	version uint64
	since   time.Time
}

// held is what a container did when it held still, zero for nothing, and archived what a volume was found to hold.
type archived struct {
	instance  events.InstanceID
	operation uint64
}

// holds has a container hold still.
func (j *judge) holds(c node.Container, asked events.Ask) {
	if j.did[c.Instance] == nil {
		j.did[c.Instance] = map[events.Confirmation]bool{}
	}
	j.did[c.Instance][asked.Confirmed()] = true
}

// Export implements node.Engine.
func (e *engine) Export(ctx context.Context, c node.Container, path string) (io.ReadCloser, error) {
	k := e.call(Check, "volume of "+c.Instance.String(), 0)
	k.route = e.host.writing
	return do(ctx, k, func() (io.ReadCloser, error) {
		content, err := e.host.engine.Export(context.Background(), c, path)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(content)
		sum := sha256.Sum256(body)
		e.host.world.judge.archived[hex.EncodeToString(sum[:])] = archived{c.Instance, e.host.engine.Held(c)}
		return io.NopCloser(bytes.NewReader(body)), err
	})
}

// writing is the way of a call that writes or reads much: some take long.
func (h *host) writing(k *call) {
	const share, longest = 4, 20 * time.Second
	var lasts time.Duration
	if h.draw.IntN(share) == 0 {
		lasts = time.Duration(h.draw.Int64N(int64(longest)))
	}
	h.take(k, lasts)
}

// takesSnapshot holds a snapshot to be wanted, of all slots, while nothing else is to be done.
func (o operating) takesSnapshot(sequence uint64, d events.OperationStarted) {
	slots := len(o.outdated())
	if o.s.snapshots.wanted == 0 || slots > 0 || d.Revision != o.s.revision || len(d.Slots) != int(o.s.scale) || o.s.isJob() ||
		(o.s.topology != nil && (o.s.topology.Change != nil || o.s.topology.Scale != o.s.scale)) {
		o.breach("a snapshot of %d slots in revision %d: wanted since %d are %d in revision %d, and %d are outdated",
			len(d.Slots), d.Revision, o.s.snapshots.wanted, o.s.scale, o.s.revision, slots)
	}
	o.s.op = &operation{
		sequence: sequence, kind: d.Operation, revision: d.Revision, total: len(d.Slots), waiting: slices.Clone(d.Slots),
		entered: o.j.at, serves: map[uint32]time.Time{}, givenUp: map[uint32]bool{}, exports: map[uint32][]events.Export{},
	}
}

// endsSnapshot holds one that was not taken to have failed or not to be wanted any more.
func (o operating) endsSnapshot(d events.OperationEnded) {
	s := o.s
	same := !s.dropped && o.op.revision == s.revision && o.op.total == int(s.scale)
	switch {
	case d.Outcome == events.OperationSuperseded && same && s.snapshots.wanted > 0 && s.snapshots.wanted < o.op.sequence:
		o.breach("is superseded, and wanted")
	case d.Outcome == events.OperationAborted && !o.anyFailed():
		o.breach("is given up because of %v", d.GivenUp)
	case d.Outcome == events.OperationDone && o.op.committed == 0:
		o.breach("is done, and nothing is committed")
	case d.Outcome != events.OperationDone && o.op.committed > 0:
		o.breach("is %s after version %d was committed", d.Outcome, o.op.committed)
	}
	if s.snapshots.wanted < o.op.sequence {
		s.snapshots.wanted = 0
	}
}

// doneInSnapshot reports whether the slot is done with the phase, and whether it has failed.
func (o operating) doneInSnapshot(slot uint32) (done, failed bool) {
	op, late := o.op, o.late()
	for _, i := range o.k.of(o.id) {
		if i.id.Ordinal != slot || !i.runs() {
			continue
		}
		spec := o.s.specs[i.revision]
		held := spec.Hooks == nil || spec.Hooks.Snapshot == nil || i.answer.Operation == op.sequence
		wanted := events.Confirmation{Operation: op.sequence, Phase: op.phase}
		answered := i.answer
		answered.Refused = ""
		refuses := answered == wanted && i.answer.Refused != ""
		switch asked := op.phase == events.OperationExport || (spec.Hooks != nil && spec.Hooks.Snapshot != nil); {
		case op.phase == events.OperationExport && !held:
			return false, true
		case op.phase == events.OperationExport && !slices.ContainsFunc(spec.Volumes, func(v events.Volume) bool { return v.State }), !asked:
			return true, false
		}
		return answered == wanted && !refuses, late || refuses
	}
	return false, late
}

// keeps judges an event of a service's snapshots.
func (k *knowledge) keeps(j *judge, id events.ServiceID, sequence uint64, d events.Data) {
	o := k.operating(j, id)
	s := &o.s.snapshots
	switch d := d.(type) {
	case events.SnapshotRequested:
		s.wanted = sequence
		o.due(d.Scheduled)
	case events.SnapshotSkipped:
		o.due(d.Scheduled)
	case events.SnapshotCancelled:
		s.wanted = 0
		delete(k.asked, id) // nothing else goes back
	case events.SnapshotCommitted:
		if o.op == nil || !o.op.snapshots() || d.Operation != o.op.sequence || o.op.phase != events.OperationExport ||
			d.Version != s.version+1 || d.Revision != o.s.revision || d.Scale != o.s.scale {
			o.breach("snapshot %+v is committed after version %d in %+v", d, s.version, o.op)
			return
		}
		o.passes(nil)
		for slot := range o.s.scale {
			o.isKept(slot)
		}
		s.version, o.op.committed = d.Version, d.Version
		o.s.keep(d.Version, d.Scale, o.op.exports)
		o.op.exports = map[uint32][]events.Export{}
	}
}

// waitedForNoMore follows a command that ends without what it asked for: nobody wants the snapshot any more.
func (k *knowledge) waitedForNoMore(f *fate) {
	if s := k.services[f.service]; s != nil && f.verb == "snapshot" && !f.queued {
		s.snapshots.wanted = 0
	}
}

// isKept holds what the slot's volumes held, as all held still, to be kept.
func (o operating) isKept(slot uint32) {
	spec := o.s.specs[o.s.revision]
	for _, i := range o.k.of(o.id) {
		if i.id.Ordinal == slot && i.runs() && i.replaces == 0 {
			spec = o.s.specs[i.revision]
		}
	}
	exports := o.op.exports[slot]
	if state := spec.StateVolumes(); len(exports) != len(state) {
		o.breach("slot %d has %d volumes kept of %d", slot, len(exports), len(state))
	}
	for _, e := range exports {
		if _, err := o.j.w.server.Objects(bus.ObjectsVolumes).Stat(context.Background(), e.Digest); err != nil && !o.j.rereading {
			o.breach("slot %d: %v", slot, err)
		}
		if a, read := o.j.archived[e.Digest]; !o.j.rewound && (!read || a.instance.Service != o.id || a.instance.Ordinal != slot ||
			(spec.Hook(events.OperationHold) != nil && a.operation != o.op.sequence)) {
			o.breach("slot %d is kept as %s, which is what %s held as it held still in %d", slot, e.Digest, a.instance, a.operation)
		}
	}
}

// exported follows what was kept of a slot's volumes.
func (o operating) exported(d events.InstanceConfirmed) {
	if o.op != nil && o.op.snapshots() && d.Operation == o.op.sequence && d.Phase == events.OperationExport {
		o.op.exports[d.Ordinal] = d.Exports
	}
}

// beginsAnew follows an instance that ends or is another process: what it did for a snapshot it does again.
func (o operating) beginsAnew(i *instance, to events.Position) {
	if o.op == nil || !o.op.snapshots() || i.answer.Operation != o.op.sequence {
		return
	}
	unheard := to.Epoch > i.seen.Epoch+1
	madeAnew := to.Epoch > i.seen.Epoch && to.Phase <= events.PhasePrepared
	if to.Attempt != i.seen.Attempt || to.Phase >= events.PhaseOffline || unheard || madeAnew {
		i.answer = events.Confirmation{}
		delete(o.op.exports, i.id.Ordinal)
	}
}

// due holds a snapshot that comes by itself to be due, and to be the last that was.
func (o operating) due(scheduled time.Time) {
	s := &o.s.snapshots
	if scheduled.IsZero() {
		return
	}
	rules := o.s.specs[o.s.revision].Snapshot
	if rules == nil || o.s.dropped || o.s.rest != nil {
		o.breach("a snapshot is said to be due at %s, and none is", scheduled)
		return
	}
	every := time.Duration(rules.Every)
	if after := scheduled.Sub(s.since); scheduled.After(o.j.at) || after < every || after%every != 0 || o.j.at.Sub(scheduled) >= every {
		o.breach("a snapshot is said to be due at %s, %s after the one before, and at %s every %s", scheduled, after, o.j.at, every)
	}
	s.since = scheduled
}

// overdueSnapshot holds a leader to have snapshots that are due be taken, or left out.
func (o operating) overdueSnapshot(epoch uint64, now time.Time) {
	rules := o.s.specs[o.s.revision].Snapshot
	switch {
	case rules == nil || o.s.dropped || o.s.rest != nil || now.Sub(o.s.snapshots.since) < time.Duration(rules.Every):
		o.s.snapshotLate = late{}
	case o.s.snapshotLate.left(epoch, now):
		o.breach("a snapshot is due for %d rounds", o.s.snapshotLate.rounds)
	}
}

// scheduleSnapshots follows whether the revision has snapshots come by themselves.
func (s *service) scheduleSnapshots(spec events.Spec, at time.Time) {
	if !spec.Snapshots() {
		s.snapshots.wanted = 0
	}
	if spec.Snapshot == nil {
		s.snapshots.since = time.Time{}
	} else if s.snapshots.since.IsZero() {
		s.snapshots.since = at
	}
}

// silentUntil is until when nothing is due.
func (j *judge) silentUntil(now time.Time) time.Time {
	const margin = 2 * time.Second
	until := now.Add(silentFor)
	for _, s := range j.cluster.services {
		if rules := s.specs[s.revision].Snapshot; rules != nil && !s.dropped && s.rest == nil {
			due := s.snapshots.since.Add(time.Duration(rules.Every) - margin)
			if due.Before(until) {
				until = due
			}
		}
	}
	return until
}
