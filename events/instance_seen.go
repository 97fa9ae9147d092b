package events

// InstanceSeen is what the log says of an instance after its node reported it.
type InstanceSeen struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
	Position
	// Reason, ExitCode and Message explain PhaseOffline, and ExitCode PhaseCompleted.
	Reason   OfflineReason `json:"reason,omitempty"`
	ExitCode *int32        `json:"exit_code,omitzero"`
	Message  string        `json:"message,omitempty"`
	// NoRestart is why its node does not start it again; missing where it does.
	NoRestart NoRestart `json:"no_restart,omitempty"`
	// Output is the key under which the bucket rookery_output has what the container printed last, for a day, where its node
	// could keep that.
	Output string `json:"output,omitempty"`
	// Images maps the names of images to what the node resolved them to, as in registry.example.org/web@sha256:…, where the log did not
	// have that yet. The first entry for a name holds for all instances of the revision: the leader replaces an instance that was made from
	// another image.
	Images map[string]string `json:"images,omitempty"`
}

// Seen returns itself, for the events that carry it.
func (s InstanceSeen) Seen() InstanceSeen { return s }

// Sighting is an event that says what a node saw of an instance: prepared, started, online,
// offline, completed, stopped or removed.
type Sighting interface {
	Data
	Seen() InstanceSeen
}

// Position is how far an instance has come on its node. It only climbs within a node epoch.
type Position struct {
	// Epoch is the node epoch of the process that saw it.
	Epoch uint64 `json:"epoch"`
	// Attempt counts the restarts of the instance on its node, from 0.
	Attempt uint32 `json:"attempt"`
	Phase   Phase  `json:"phase"`
}

// Above reports whether p is further than o: a later node epoch, and within it a later attempt, and within that a
// later phase. Completed, stopped and removed end all attempts.
func (p Position) Above(o Position) bool {
	switch {
	case p.Epoch != o.Epoch:
		return p.Epoch > o.Epoch
	case p.Phase.final() || o.Phase.final():
		return p.Phase > o.Phase
	case p.Attempt != o.Attempt:
		return p.Attempt > o.Attempt
	}
	return p.Phase > o.Phase
}
