package events

// InstanceLost says that an instance has been on a silent node for longer than its service waits. It counts as serving no
// more, and another takes its place where its slot may have two. Its order stays: it may run still.
type InstanceLost struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
}

// Kind implements Data.
func (InstanceLost) Kind() Kind { return v1("instance", "lost") }

// InstanceReturned says that the node of a lost instance is back and has listed what it has. One that shall run is what its
// slot has again.
type InstanceReturned struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
}

// Kind implements Data.
func (InstanceReturned) Kind() Kind { return v1("instance", "returned") }
