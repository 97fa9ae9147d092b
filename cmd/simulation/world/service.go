package world

import (
	"time"

	"github.com/rookery-project/rookery/events"
)

type service struct {
	// born is when the log had it first, after the last one of its name was gone.
	born     time.Time
	scale    uint32
	revision uint64
	specs    map[uint64]events.Spec
	dropped  bool
	// takesBack says that it is to be what it was before a group that ended in the middle.
	takesBack bool
	// changed is the sequence of the last event that changed what it shall be.
	changed uint64
	// keeps are the earlier revisions that are as the present one; good is how all last was as it should be, nil for never.
	keeps map[uint64]bool
	good  *good
	// homes are the nodes that have the volumes of slots.
	homes map[uint32]string
	// failed are when instances of the revision failed, by node.
	failed map[string][]time.Time
	// waits says that a slot has no node; late is what was closed since there is one for it, and lags what was closed
	// since a global service has not as many instances as nodes.
	waits      bool
	late, lags late
	job        job
	// unlost is what was closed since an instance is on a node that is silent for long.
	unlost late
	// op is the change that is under way, nil for none.
	op *operation
	// ended is what the one before came to; without a sequence where there was none.
	ended ending
	// topology is what its instances were last told, nil for nothing, versions the last config version, and giving says that
	// somebody may serve what is another's: a change went on without them, or they are not asked.
	topology *events.Topology
	versions uint64
	giving   bool
	// snapshots are those of it, and snapshotLate what was closed since one is due.
	snapshots    snapshots
	snapshotLate late
	// rest is how far the service is that shall rest, nil where it shall run; back is how it last came back, and kept are the snapshots
	// that it may come back from. restFailed says that what was to come before it rests has failed.
	rest       *rest
	back       *back
	kept       map[uint64]*kept
	restFailed bool
	// crashes are those of slots, and crashLate what was closed since one is left alone.
	crashes   map[uint32]*crash
	crashLate late
	// since is when a slot first had no node since all had one, and had are the slots that have had an instance.
	since time.Time
	had   map[uint32]bool
}

func (k *knowledge) service(id events.ServiceID) *service {
	s := k.services[id]
	if s == nil {
		s = &service{born: time.Now(), specs: map[uint64]events.Spec{}, homes: map[uint32]string{}, had: map[uint32]bool{}, crashes: map[uint32]*crash{}}
		k.services[id] = s
	}
	return s
}

func (k *knowledge) revised(j *judge, id events.ServiceID, d events.ServiceRevised) {
	s := k.service(id)
	if d.Revision != s.revision+1 {
		j.breach("revisions", "revision %d of %s follows revision %d", d.Revision, id, s.revision)
	}
	if before, was := s.specs[s.revision]; was && d.Of == 0 && !s.dropped && !d.Spec.IsJob() && !j.rereading && instancesOf(before) == instancesOf(d.Spec) {
		j.breach("revisions", "revision %d of %s says of its instances what the one before did, and keeps none", d.Revision, id)
	}
	if s.rest != nil && !s.dropped {
		j.breach("suspend", "%s is of revision %d while it is suspended", id, d.Revision)
	}
	s.repeats(j, id, d)
	s.revision, s.dropped, s.waits, s.specs[d.Revision] = d.Revision, false, false, d.Spec
	k.letGo(id)
	if d.Spec.Topology == nil {
		s.topology = nil
	}
	s.giving = s.giving || d.Spec.Hooks == nil || d.Spec.Hooks.Release == nil || d.Spec.Hooks.Acquire == nil
	s.failed, s.job = map[string][]time.Time{}, job{scheduled: j.at, done: map[uint32]bool{}}
}
