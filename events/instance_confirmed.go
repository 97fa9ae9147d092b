package events

// InstanceConfirmed says that an instance has done what a phase of a change of the topology, or of a snapshot, asks of it.
type InstanceConfirmed struct {
	InstanceAsked
	// Exports are what its volumes with state hold, in phase export alone.
	Exports []Export `json:"exports,omitempty"`
}

// InstanceRefused says that it has not, and will not in this attempt: its hook answered so, or not in time.
type InstanceRefused struct {
	InstanceAsked
}

// InstanceAsked is how far an instance has come with a change of the topology, or with a snapshot, as its node saw it.
type InstanceAsked struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
	Confirmation
}

// Asked returns itself, for the events that carry it.
func (a InstanceAsked) Asked() InstanceAsked { return a }

// Answer is an event that says how an instance answered what it was asked: confirmed or refused.
type Answer interface {
	Data
	Asked() InstanceAsked
}

// Kind implements Data.
func (InstanceConfirmed) Kind() Kind { return v1("instance", "confirmed") }

// Kind implements Data.
func (InstanceRefused) Kind() Kind { return v1("instance", "refused") }
