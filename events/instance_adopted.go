package events

// InstanceAdopted says that a node runs an instance in a slot for which the log knows none, and that it counts from here on as if it had been
// placed. This happens after the log was restored from an older backup.
type InstanceAdopted struct {
	InstancePlaced
}

// Kind implements Data.
func (InstanceAdopted) Kind() Kind { return v1("instance", "adopted") }
