package events

// ServiceRollback is the command that a service has the spec and the images of an earlier revision again. It makes a new
// revision; instances that are as that one says stay.
type ServiceRollback struct {
	// To is the earlier revision, one of the last KeptRevisions; 0 for the last that is not as the present one.
	To uint64 `json:"to,omitzero"`
	Guard
}

// KeptRevisions is how many revisions of a service are kept, the present one included.
const KeptRevisions = 10

// Kind implements Data.
func (ServiceRollback) Kind() Kind { return v1("service", "rollback") }

func (c ServiceRollback) check() error { return c.Busy.check() }

func (c ServiceRollback) normal() Command { return c }
