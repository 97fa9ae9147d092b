package checker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus"
	"github.com/rookery-project/rookery/node"
)

// volumesState is what engines have done with volumes.
type volumesState struct {
	// plans are what containers were made by, held what volumes were filled with, and archives what was read of volumes, by digest.
	plans    map[process]node.Plan
	held     map[place]filled
	archives map[string]archive
}

// process is one container's, and place a volume of a host.
type process struct{ node, handle string }

type place struct{ node, volume string }

// filled is what a volume was filled with last, and because of which resumption; started says that a container has used it since.
type filled struct {
	resumed uint64
	digest  string
	started bool
}

// archive is whose volume it was read from, and in which operation that held still.
type archive struct {
	instance  events.InstanceID
	operation uint64
}

// kept is a snapshot that a service can be resumed from, and resumption which slots may come on another node because of one.
type kept struct {
	scale   uint32
	volumes map[uint32][]events.Export
}

type resumption struct{ slots map[uint32][]events.Export }

// stays checks that a slot stays on the node that has its volumes, unless a snapshot fills them or an operator lets them go.
func (c *Checker) stays(s *service, i *instance) {
	home, leaves := s.homes[i.id.Ordinal], i.replaces > 0 && c.facts.rebalance != nil && c.facts.rebalance.Volumes
	c.must(!s.specs[i.revision].KeepsVolumes() || home == "" || home == i.node || leaves || s.roams(i),
		"volumes", "%s is placed on %s, and the volumes of its slot are on %s", i.id, i.node, home)
	if i.replaces == 0 {
		s.settles(i)
	}
}

// settles has the volumes of a slot be where its instance is, or nowhere.
func (s *service) settles(i *instance) {
	delete(s.homes, i.id.Ordinal)
	if s.specs[i.revision].KeepsVolumes() {
		s.homes[i.id.Ordinal] = i.node
	}
}

// roams reports whether a snapshot has all that the volumes of the slot hold, and no instance has come since the service resumed.
func (s *service) roams(i *instance) bool {
	if s.resumed == nil {
		return false
	}
	exports, open := s.resumed.slots[i.id.Ordinal]
	return open && !slices.ContainsFunc(s.specs[i.revision].Volumes, func(v events.Volume) bool {
		has := slices.ContainsFunc(exports, func(e events.Export) bool { return e.Volume == v.Name })
		return v.Kind == events.VolumeNamed && (!v.State || !has)
	})
}

// resumes follows a service that comes back, and checks that the snapshot which it names is one of it.
func (c *Checker) resumes(s *service, d events.ServiceResumed) {
	c.must(s.suspended, "suspend", "%s is resumed, and was not suspended", s.id)
	stopped, version := s.stopped, d.Snapshot
	s.suspended, s.stopped = false, false
	from, known := s.snapshots[version]
	if version > 0 && (!stopped || !known || from.scale != s.scale || s.any((*instance).runs)) {
		c.breach("suspend", "%s is resumed from snapshot %d with scale %d, and has stopped: %t", s.id, version, s.scale, stopped)
		return
	}
	if !stopped {
		return
	}
	if s.rescales() {
		s.topology = nil
	}
	if version == 0 {
		from, known = s.snapshots[s.snapshot]
	}
	if !known {
		return
	}
	s.resumed = &resumption{slots: map[uint32][]events.Export{}}
	for ordinal, exports := range from.volumes {
		if ordinal < s.scale {
			s.resumed.slots[ordinal] = exports
		}
	}
}

// committed checks a snapshot: its version climbs, and what it has of each slot was read while the slot held still for it.
func (c *Checker) committed(id events.ServiceID, d events.SnapshotCommitted) {
	s := c.service(id)
	if s.op == nil || !s.op.keeps() || d.Operation != s.op.sequence || s.op.phase != events.OperationExport ||
		d.Version != s.snapshot+1 || d.Revision != s.revision || d.Scale != s.scale {
		c.breach("P6", "%s: snapshot %+v is committed after version %d", id, d, s.snapshot)
		return
	}
	c.barrier(s, nil)
	for ordinal := range s.scale {
		c.isKept(s, ordinal)
	}
	s.snapshot = d.Version
	s.snapshots[d.Version] = kept{scale: d.Scale, volumes: maps.Clone(s.op.exports)}
}

// isKept checks that each state volume of the slot is stored as it was while its instance held still.
func (c *Checker) isKept(s *service, ordinal uint32) {
	spec := s.spec()
	for _, i := range s.at(ordinal) {
		if i.runs() && i.replaces == 0 {
			spec = s.specs[i.revision]
		}
	}
	exports := s.op.exports[ordinal]
	state := spec.StateVolumes()
	c.must(len(exports) == len(state), "P6", "%s: slot %d has %d volumes kept of %d", s.id, ordinal, len(exports), len(state))
	for _, e := range exports {
		_, err := c.Server.Objects(bus.ObjectsVolumes).Stat(context.Background(), e.Digest)
		c.must(err == nil, "P6", "%s: slot %d: %v", s.id, ordinal, err)
		a, read := c.volumes.archives[e.Digest]
		held := spec.Hook(events.OperationHold) == nil || a.operation == s.op.sequence
		c.must(c.rewound || (read && a.instance.Service == s.id && a.instance.Ordinal == ordinal && held),
			"P6", "%s: slot %d is kept as %s, which is what %s held as it held still in %d", s.id, ordinal, e.Digest, a.instance, a.operation)
	}
}

// Archived follows a volume that was read, of an instance that held still in this operation last.
func (c *Checker) Archived(content []byte, id events.InstanceID, operation uint64) {
	c.volumes.archives[digest(content)] = archive{id, operation}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Emptied checks that a volume is not filled a second time because of one resumption, once a container may have written to it.
func (c *Checker) Emptied(host string, p node.Plan, volume string) {
	at := place{host, volume}
	had := c.volumes.held[at]
	c.must(had.digest == "" || !had.started || had.resumed != p.Order.Restore.Resumed || c.rewound,
		"restore", "%s fills %s of %s a second time because of %d", host, volume, p.Instance, had.resumed)
	c.volumes.held[at] = filled{resumed: p.Order.Restore.Resumed}
}

// Filled follows a volume that was filled.
func (c *Checker) Filled(host, volume string, content []byte) {
	at := place{host, volume}
	c.volumes.held[at] = filled{resumed: c.volumes.held[at].resumed, digest: digest(content)}
}

// startsWith checks that a container which starts has in its volumes what the order says that it was made by.
func (c *Checker) startsWith(host string, started node.Container) {
	p, known := c.volumes.plans[process{host, started.Handle}]
	if !known {
		return
	}
	for _, v := range p.Order.Spec.Volumes {
		if v.Kind != events.VolumeNamed {
			continue
		}
		at := place{host, p.VolumeName(v.Name)}
		has := c.volumes.held[at]
		if r := p.Order.Restore; r != nil {
			for _, e := range r.Volumes {
				c.must(e.Volume != v.Name || (has.resumed == r.Resumed && has.digest == e.Digest), "restore",
					"%s starts %s with volume %s filled because of %d with %q, and the order says %d with %q",
					host, started.Instance, v.Name, has.resumed, has.digest, r.Resumed, e.Digest)
			}
		}
		has.started = true
		c.volumes.held[at] = has
	}
}

// Wiped follows a host that came back with nothing of before.
func (c *Checker) Wiped(host string) {
	maps.DeleteFunc(c.volumes.held, func(at place, _ filled) bool { return at.node == host })
	maps.DeleteFunc(c.volumes.plans, func(at process, _ node.Plan) bool { return at.node == host })
}
