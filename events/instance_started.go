package events

// InstanceStarted says that the container's process runs.
type InstanceStarted struct{ InstanceSeen }

// Kind implements Data.
func (InstanceStarted) Kind() Kind { return v1("instance", "started") }
