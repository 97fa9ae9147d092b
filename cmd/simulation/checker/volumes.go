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

// volumesState records what engines have done with volumes.
type volumesState struct {
	// plans holds the plan of each container, held the last filling of each volume, and archives the content read from volumes, by digest.
	plans    map[process]node.Plan
	held     map[place]filled
	archives map[string]archive
}

// process is the process of a container, and place is a volume of a host.
type process struct{ node, handle string }

type place struct{ node, volume string }

// filled is the content with which a volume was last filled, and the resumption that asked for it. started says that a container has used
// the volume since.
type filled struct {
	resumed uint64
	digest  string
	started bool
}

// archive is the instance whose volume was read, and the operation for which it held still.
type archive struct {
	instance  events.InstanceID
	operation uint64
}

// kept is a snapshot from which a service can resume. resumption holds the slots that a snapshot allows on another node.
type kept struct {
	scale   uint32
	volumes map[uint32][]events.Export
}

type resumption struct{ slots map[uint32][]events.Export }

// stays checks that a slot stays on the node with its volumes, unless a snapshot fills them or a rebalancing may move volumes.
func (c *Checker) stays(s *service, i *instance) {
	home, leaves := s.homes[i.id.Ordinal], i.replaces > 0 && c.facts.rebalance != nil && c.facts.rebalance.Volumes
	c.must(!s.specs[i.revision].KeepsVolumes() || home == "" || home == i.node || leaves || s.roams(i),
		"volumes", "%s is placed on %s, but the volumes of its slot are on %s", i.id, i.node, home)
	if i.replaces == 0 {
		s.settles(i)
	}
}

// settles records that the volumes of a slot are on the node of its instance, or that the slot has none.
func (s *service) settles(i *instance) {
	delete(s.homes, i.id.Ordinal)
	if s.specs[i.revision].KeepsVolumes() {
		s.homes[i.id.Ordinal] = i.node
	}
}

// roams reports whether a snapshot holds all volumes of the slot, and the slot has had no instance since the service resumed.
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

// resumes follows a service that resumes, and checks that the snapshot in the event is one of the service.
func (c *Checker) resumes(s *service, d events.ServiceResumed) {
	c.must(s.suspended, "suspend", "%s is resumed, but was not suspended", s.id)
	stopped, version := s.stopped, d.Snapshot
	s.suspended, s.stopped = false, false
	from, known := s.snapshots[version]
	if version > 0 && (!stopped || !known || from.scale != s.scale || s.any((*instance).runs)) {
		c.breach("suspend", "%s cannot resume from snapshot %d with scale %d, stopped: %t", s.id, version, s.scale, stopped)
		return
	}
	if !stopped {
		return
	}
	if s.rescales() {
		s.topology = nil
	}
	if version == 0 {
		from, known = s.snapshots[s.taken]
	}
	if !known {
		return // an earlier resumption still applies to slots that have had no instance since
	}
	s.resumed = &resumption{slots: map[uint32][]events.Export{}}
	for ordinal, exports := range from.volumes {
		if ordinal < s.scale {
			s.resumed.slots[ordinal] = exports
		}
	}
}

// committed checks a snapshot: its version climbs, and each slot held still while its volumes were read.
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
	if s.suspended {
		s.taken = d.Version
	}
	s.snapshots[d.Version] = kept{scale: d.Scale, volumes: maps.Clone(s.op.exports)}
}

// isKept checks that each state volume of the slot is stored, with its content while the instance held still.
func (c *Checker) isKept(s *service, ordinal uint32) {
	spec := s.spec()
	for _, i := range s.at(ordinal) {
		if i.runs() && i.replaces == 0 {
			spec = s.specs[i.revision]
		}
	}
	exports := s.op.exports[ordinal]
	state := spec.StateVolumes()
	c.must(len(exports) == len(state), "P6", "%s: the snapshot has %d of the %d state volumes of slot %d", s.id, len(exports), len(state), ordinal)
	for _, e := range exports {
		_, err := c.Server.Objects(bus.ObjectsVolumes).Stat(context.Background(), e.Digest)
		c.must(err == nil, "P6", "%s: slot %d: %v", s.id, ordinal, err)
		a, read := c.volumes.archives[e.Digest]
		held := spec.Hook(events.OperationHold) == nil || a.operation == s.op.sequence
		c.must(c.rewound || (read && a.instance.Service == s.id && a.instance.Ordinal == ordinal && held),
			"P6", "%s: slot %d is stored as %s, which was read from %s while it held still for operation %d",
			s.id, ordinal, e.Digest, a.instance, a.operation)
	}
}

// Archived follows the read of a volume. The instance last held still for this operation.
func (c *Checker) Archived(content []byte, id events.InstanceID, operation uint64) {
	c.volumes.archives[digest(content)] = archive{id, operation}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Emptied checks that a node does not fill a volume twice for one resumption, once a container may have written to it.
func (c *Checker) Emptied(host string, p node.Plan, volume string) {
	at := place{host, volume}
	had := c.volumes.held[at]
	c.must(had.digest == "" || !had.started || had.resumed != p.Order.Restore.Resumed || c.rewound,
		"restore", "%s fills %s of %s a second time for the resumption at %d", host, volume, p.Instance, had.resumed)
	c.volumes.held[at] = filled{resumed: p.Order.Restore.Resumed}
}

// Filled follows a volume that was filled.
func (c *Checker) Filled(host, volume string, content []byte) {
	at := place{host, volume}
	c.volumes.held[at] = filled{resumed: c.volumes.held[at].resumed, digest: digest(content)}
}

// startsWith checks that the volumes of a starting container have the content that the order of its plan asks for.
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
					"%s starts %s with volume %s filled for resumption %d with %q, but the order asks for %d with %q",
					host, started.Instance, v.Name, has.resumed, has.digest, r.Resumed, e.Digest)
			}
		}
		has.started = true
		c.volumes.held[at] = has
	}
}

// Wiped follows a host that came back empty.
func (c *Checker) Wiped(host string) {
	maps.DeleteFunc(c.volumes.held, func(at place, _ filled) bool { return at.node == host })
	maps.DeleteFunc(c.volumes.plans, func(at process, _ node.Plan) bool { return at.node == host })
}
