package events

import "slices"

// Mode is how many instances a service has.
type Mode string

// The modes of a service.
const (
	ModeReplicated Mode = "replicated"
	ModeGlobal     Mode = "global"
	ModeJob        Mode = "job"
)

// Scaled reports whether operators set how many instances the service has.
func (s Spec) Scaled() bool { return !s.Global() && !s.IsJob() }

// Global reports whether the service has one instance on every node that can have one.
func (s Spec) Global() bool { return s.Mode == ModeGlobal }

// inMode returns the spec with what its mode says written out.
func (s Spec) inMode() Spec {
	switch s.Mode {
	case ModeReplicated:
		s.Mode = ""
	case ModeGlobal:
		s.MaxPerNode = 1
	case ModeJob:
		j, r := s.Jobs(), s.Restarts()
		r.Policy = RestartNever
		s.Job, s.Restart = &j, &r
	}
	return s
}

func (s Spec) checkMode() error {
	modes := []Mode{ModeReplicated, ModeGlobal, ModeJob}
	if s.Mode != "" && !slices.Contains(modes, s.Mode) {
		return Reject(CodeInvalidValue, "mode", "mode %s is not known: known are %s", quote(string(s.Mode)), listed(modes))
	}
	if s.Global() && s.MaxPerNode > 1 {
		return Reject(CodeInvalidValue, "max_per_node", "max_per_node is %d, and mode global has one instance on each node: leave it out",
			s.MaxPerNode)
	}
	return s.checkJob()
}
