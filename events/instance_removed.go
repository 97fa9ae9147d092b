package events

// InstanceRemoved says that nothing is left of the instance on its node. Its ports are free again.
type InstanceRemoved struct{ InstanceSeen }

// Kind implements Data.
func (InstanceRemoved) Kind() Kind { return v1("instance", "removed") }
