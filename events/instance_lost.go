package events

// InstanceLost says that an instance has been on a silent node for longer than its service waits. It no longer counts as serving, and
// another takes its place where its slot may have two. Its order stays: it may still run.
type InstanceLost struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
}

// Kind implements Data.
func (InstanceLost) Kind() Kind { return v1("instance", "lost") }

// InstanceReturned says that the node of a lost instance is back and has listed its instances. An instance whose order is to run belongs to
// its slot again.
type InstanceReturned struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
}

// Kind implements Data.
func (InstanceReturned) Kind() Kind { return v1("instance", "returned") }
