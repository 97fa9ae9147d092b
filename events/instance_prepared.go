package events

// InstancePrepared says that the image is present and the container created.
type InstancePrepared struct{ InstanceSeen }

// Kind implements Data.
func (InstancePrepared) Kind() Kind { return v1("instance", "prepared") }
