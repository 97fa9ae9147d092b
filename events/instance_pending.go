package events

// InstancePending says why no node can have the service's next instance. It is said again when the reasons change.
type InstancePending struct {
	Ordinal uint32 `json:"ordinal"`
	// Nodes counts all nodes, and Removed those that each filter removed: all of them.
	Nodes   uint32  `json:"nodes"`
	Removed Removed `json:"removed,omitzero"`
	// Closest is the node that lacks least where resources are what is missing.
	Closest *Shortage `json:"closest,omitzero"`
	// Holds is the node that is held for the instance, "" for none: an instance that began to wait later is not placed there.
	Holds string `json:"holds,omitzero"`
	// HeldFor is the service that has waited longer, as namespace/name, where a node is held for that one.
	HeldFor string `json:"held_for,omitzero"`
}

// Kind implements Data.
func (InstancePending) Kind() Kind { return v1("instance", "pending") }
