package events

// InstanceOnline says that the instance serves.
type InstanceOnline struct{ InstanceSeen }

// Kind implements Data.
func (InstanceOnline) Kind() Kind { return v1("instance", "online") }
