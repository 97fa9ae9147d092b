package events

// InstanceOffline says that the instance does not serve, and why. Its node tries again after a back-off.
type InstanceOffline struct{ InstanceSeen }

// Kind implements Data.
func (InstanceOffline) Kind() Kind { return v1("instance", "offline") }
