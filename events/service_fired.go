package events

import "time"

// ServiceFired says that a run of a job is due by its schedule, and begins.
type ServiceFired struct {
	// Run counts the runs of the revision, from 1.
	Run uint64 `json:"run"`
	// Scheduled is when it was due. Of several that were missed it is the last: the others are not made up for.
	Scheduled time.Time `json:"scheduled"`
}

// Kind implements Data.
func (ServiceFired) Kind() Kind { return v1("service", "fired") }

// ServiceSkipped says that a run of a job was due while the one before had not ended, and is left out.
type ServiceSkipped struct {
	// Run is the one that has not ended.
	Run       uint64    `json:"run"`
	Scheduled time.Time `json:"scheduled"`
}

// Kind implements Data.
func (ServiceSkipped) Kind() Kind { return v1("service", "skipped") }
