package events

import "strconv"

// TopologyChanged says what a service's instances learn of each other: their nodes write it into their files. The event comes again with
// the same content where instances have come or gone since. The orders then have other addresses of the instances.
type TopologyChanged struct {
	Topology
}

// Kind implements Data.
func (TopologyChanged) Kind() Kind { return v1("topology", "changed") }

// Topology is how many slots a service has for its instances, and what it is to become.
type Topology struct {
	// ConfigVersion climbs with every topology that comes into force. It skips the numbers of changes that were given up once
	// instances knew of them.
	ConfigVersion uint64 `json:"config_version"`
	Scale         uint32 `json:"scale"`
	// Change is what it becomes; missing while it stays.
	Change *TopologyChange `json:"change,omitempty"`
}

// TopologyChange is a topology that comes, and what instances do for it now.
type TopologyChange struct {
	// Operation is the one that brings it, and Attempt counts from 1 with each phase that it tries again.
	Operation uint64 `json:"operation"`
	Attempt   uint32 `json:"attempt"`
	// Phase is release or acquire.
	Phase OperationPhase `json:"phase"`
	// ConfigVersion and Scale are those that it brings.
	ConfigVersion uint64 `json:"config_version"`
	Scale         uint32 `json:"scale"`
	// Slots is how many slots have a part in it: those of a change before it that was left in the middle, too.
	Slots uint32 `json:"slots"`
}

// Confirmed is the answer of an instance that has done what the change asks of it.
func (c TopologyChange) Confirmed() Confirmation {
	return Confirmation{Operation: c.Operation, Attempt: c.Attempt, Phase: c.Phase}
}

// Variables are what a hook's command finds in its environment.
func (c TopologyChange) Variables() []string {
	return []string{
		"ROOKERY_OPERATION=" + strconv.FormatUint(c.Operation, 10),
		"ROOKERY_ATTEMPT=" + strconv.FormatUint(uint64(c.Attempt), 10),
		"ROOKERY_PHASE=" + string(c.Phase),
		"ROOKERY_CONFIG_VERSION=" + strconv.FormatUint(c.ConfigVersion, 10),
	}
}

// Equal reports whether both say the same.
func (t Topology) Equal(o Topology) bool {
	if t.ConfigVersion != o.ConfigVersion || t.Scale != o.Scale || (t.Change == nil) != (o.Change == nil) {
		return false
	}
	return t.Change == nil || *t.Change == *o.Change
}

// Span is how many slots have a part in it: those that are to go and those that come included.
func (t Topology) Span() uint32 {
	if t.Change != nil {
		return max(t.Scale, t.Change.Slots)
	}
	return t.Scale
}

// Told is a topology with where the instances are: what a node tells one of them.
type Told struct {
	Topology
	// Snapshot is the version of the snapshot that the service was resumed from, until it is resumed again: volumes with state were
	// filled from it, of all slots or of those that came elsewhere. Missing where none were.
	Snapshot uint64 `json:"snapshot,omitzero"`
	Peers    []Peer `json:"peers"`
}

// Peer is where the instance of a slot is reached.
type Peer struct {
	Ordinal uint32 `json:"ordinal"`
	Host    string `json:"host"`
	// Ports are those of the host, by their names in the spec.
	Ports map[string]uint16 `json:"ports,omitempty"`
}

// TopologyDocument is the file topology.json in an instance.
type TopologyDocument struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Told
}

// Confirmation is how far an instance has come with a change of the topology, or a snapshot.
type Confirmation struct {
	Operation uint64         `json:"operation"`
	Attempt   uint32         `json:"attempt"`
	Phase     OperationPhase `json:"phase"`
	// Refused is a text that says why its hook did not do what it was asked; "" where it did.
	Refused string `json:"refused,omitempty"`
}

// Above reports whether c is further than o: of a later operation, and within it of a later attempt, and within that of a
// later phase.
func (c Confirmation) Above(o Confirmation) bool {
	switch {
	case c.Operation != o.Operation:
		return c.Operation > o.Operation
	case c.Attempt != o.Attempt:
		return c.Attempt > o.Attempt
	}
	return c.rank() > o.rank()
}

// rank is the place of the phase among those of its operation in which instances are asked; 0 for any other.
func (c Confirmation) rank() int { return operationPhases[c.Phase].asks }

func (c Confirmation) check() error {
	switch {
	case c.rank() == 0:
		return Reject(CodeInvalidValue, "confirmed.phase", "confirmed.phase %s is not known: known are release, acquire, hold, export", quote(string(c.Phase)))
	case len(c.Refused) > MaxMessage:
		return Reject(CodeOutOfRange, "confirmed.refused", "confirmed.refused has %d bytes, more than %d", len(c.Refused), MaxMessage)
	}
	return nil
}
