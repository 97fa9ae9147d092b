package events

// ServiceResume is the command to bring a suspended service back.
type ServiceResume struct {
	// Snapshot is the version of the snapshot, one of those that are kept, that its volumes with state are to hold and whose scale
	// it is to have. 0 for the volumes as they are: a slot whose node cannot have it comes elsewhere, with what the snapshot
	// that was taken as it was suspended has of it.
	Snapshot uint64 `json:"snapshot,omitzero"`
	Guard
}

// Kind implements Data.
func (ServiceResume) Kind() Kind { return v1("service", "resume") }

func (c ServiceResume) check() error { return c.Busy.check() }

func (c ServiceResume) normal() Command { return c }
