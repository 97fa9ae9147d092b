package events

// InstanceStatus is what a node saw of one instance, published when it changed.
type InstanceStatus struct {
	// Counter climbs with each status of one node epoch.
	Counter uint64 `json:"counter"`
	InstanceState
}

// Kind implements Data.
func (InstanceStatus) Kind() Kind { return v1("status", "instance") }

// InstanceState is one instance as its node has it.
type InstanceState struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Revision   uint64 `json:"revision,omitzero"`
	Position
	Reason   OfflineReason `json:"reason,omitempty"`
	ExitCode *int32        `json:"exit_code,omitzero"`
	// Message is a text that explains the reason.
	Message string `json:"message,omitempty"`
	// NoRestart is why the node does not start the instance again, once nothing of it runs; missing where the node does.
	NoRestart NoRestart `json:"no_restart,omitempty"`
	// Output is the key under which the bucket rookery_output has what the container printed last, as OutputKey gives it;
	// missing where it printed nothing or that could not be kept.
	Output string `json:"output,omitempty"`
	// Images are the digests that the names of its images stand for on the node, as a registry has them; missing for images that no
	// registry has.
	Images map[string]string `json:"images,omitempty"`
	// Confirmed is how it answered what it was last asked as the topology changes, or for a snapshot; missing where it was not
	// asked. Exports are what its volumes with state hold, where that was an export.
	Confirmed *Confirmation `json:"confirmed,omitempty"`
	Exports   []Export      `json:"exports,omitempty"`
	// Ports are those that the container was made with; given in lists alone.
	Ports []PortBinding `json:"ports,omitempty"`
}

// ID returns the instance.
func (s InstanceState) ID() InstanceID {
	return InstanceID{Service: ServiceID{Namespace: s.Namespace, Name: s.Name}, Ordinal: s.Ordinal, Generation: s.Generation}
}

// MaxMessage is the greatest length of a message in a status, in bytes.
const MaxMessage = 512
