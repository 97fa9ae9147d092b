package events

import "slices"

// ImageSpec says how images come to the node.
type ImageSpec struct {
	// Pull is missing (where the node does not have the image), always (before each container) or never. missing where
	// it is not given.
	Pull PullPolicy `json:"pull,omitempty"`
}

// PullPolicy is when an image is fetched.
type PullPolicy string

// When an image is fetched.
const (
	PullMissing PullPolicy = "missing"
	PullAlways  PullPolicy = "always"
	PullNever   PullPolicy = "never"
)

func (s ImageSpec) canonical() ImageSpec {
	if s.Pull == PullMissing {
		s.Pull = ""
	}
	return s
}

func (s ImageSpec) check() error {
	known := []PullPolicy{PullMissing, PullAlways, PullNever}
	if s.Pull != "" && !slices.Contains(known, s.Pull) {
		return Reject(CodeInvalidValue, "pull", "pull %s is not known: known are %s", quote(string(s.Pull)), listed(known))
	}
	return nil
}
