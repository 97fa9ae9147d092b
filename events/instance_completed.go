package events

// InstanceCompleted says that the instance of a job has ended with exit code 0: its slot is done.
type InstanceCompleted struct{ InstanceSeen }

// Kind implements Data.
func (InstanceCompleted) Kind() Kind { return v1("instance", "completed") }
