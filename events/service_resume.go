package events

// ServiceResume is the command to bring a suspended service back.
type ServiceResume struct {
	// Snapshot is the version of a kept snapshot. The service gets its scale, and volumes with state that hold its contents. With 0 the
	// volumes stay as they are. A slot whose node cannot have it moves to another node: its volumes there get their contents from the
	// snapshot that the suspension took.
	Snapshot uint64 `json:"snapshot,omitzero"`
	Guard
}

// Kind implements Data.
func (ServiceResume) Kind() Kind { return v1("service", "resume") }

func (c ServiceResume) check() error { return c.Busy.check() }

func (c ServiceResume) normal() Command { return c }
