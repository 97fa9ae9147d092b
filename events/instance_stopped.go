package events

// InstanceStopped says that the instance no longer runs because it was to stop.
type InstanceStopped struct{ InstanceSeen }

// Kind implements Data.
func (InstanceStopped) Kind() Kind { return v1("instance", "stopped") }
