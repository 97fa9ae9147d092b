package events

// InstanceAdopted says that a node runs an instance of a slot that the log knows no instance of, as after the log was
// restored from an older backup, and that it serves from here on as if it had been placed.
type InstanceAdopted struct {
	InstancePlaced
}

// Kind implements Data.
func (InstanceAdopted) Kind() Kind { return v1("instance", "adopted") }
