package events

import "cmp"

// Defaults and limits of jobs.
const (
	DefaultBackoffLimit = 6
	MaxBackoffLimit     = 10_000
)

// JobSpec says how a service of mode job runs to its end.
type JobSpec struct {
	// Job says how often and how many at once; for mode job alone.
	Job *Job `json:"job,omitempty"`
}

// Job is how a service of mode job runs to its end.
type Job struct {
	// Completions is how many slots the job has. A slot is done once an instance of it has ended with exit code 0. Default: 1.
	Completions uint32 `json:"completions,omitzero"`
	// Parallelism is how many instances may run at once. Default: 1.
	Parallelism uint32 `json:"parallelism,omitzero"`
	// BackoffLimit is how many instances may fail: with one more the job has failed, and its running instances are stopped. Default: 6.
	BackoffLimit *uint32 `json:"backoff_limit,omitempty"`
	// Schedule is when runs of the job begin, in the five fields of cron or as @daily and the like. Each run is the whole job again.
	// Without a schedule there is one run, at once.
	Schedule string `json:"schedule,omitempty"`
	// TimeZone is the schedule's, by its name in IANA's database. Default: UTC.
	TimeZone string `json:"time_zone,omitempty"`
	// Overlap is the outcome of a run that is due while the one before has not ended: forbid leaves the new run out, replace stops the old
	// one. Default: forbid.
	Overlap Overlap `json:"overlap,omitempty"`
}

// IsJob reports whether the service runs to its end.
func (s Spec) IsJob() bool { return s.Mode == ModeJob }

// Jobs returns how the service runs to its end, with the defaults.
func (s JobSpec) Jobs() Job {
	if s.Job == nil {
		return Job{}.withDefaults()
	}
	return s.Job.withDefaults()
}

// withDefaults writes out the defaults.
func (j Job) withDefaults() Job {
	j.Completions, j.Parallelism = max(j.Completions, 1), max(j.Parallelism, 1)
	if j.BackoffLimit == nil {
		limit := uint32(DefaultBackoffLimit)
		j.BackoffLimit = &limit
	}
	if j.Schedule != "" {
		j.TimeZone, j.Overlap = cmp.Or(j.TimeZone, DefaultTimeZone), cmp.Or(j.Overlap, OverlapForbid)
	}
	return j
}

// checkJob holds the fields of a job to their limits. The instances of one are replaced, and never started again.
func (s Spec) checkJob() error {
	switch {
	case s.Job != nil && !s.IsJob():
		return Reject(CodeInvalidValue, "job", `job is given, and mode is not job: add "mode":"job", or leave it out`)
	case !s.IsJob():
		return nil
	case s.Update != nil:
		return Reject(CodeInvalidValue, "update", "update is given, and mode is job, which begins again with every spec: leave it out")
	}
	j := s.Jobs()
	for _, c := range []struct {
		field      string
		value, max uint32
	}{
		{"job.completions", j.Completions, MaxScale},
		{"job.parallelism", j.Parallelism, MaxScale},
		{"job.backoff_limit", *j.BackoffLimit, MaxBackoffLimit},
	} {
		if c.value > c.max {
			return Reject(CodeOutOfRange, c.field, "%s %d is more than %d", c.field, c.value, c.max)
		}
	}
	if err := j.checkSchedule(); err != nil || s.Restart == nil {
		return err
	}
	if p := s.Restart.Policy; p != "" && p != RestartNever {
		return Reject(CodeInvalidValue, "restart.policy", "restart.policy is %s, and %s", quote(string(p)), replaced)
	}
	if s.Restart.Attempts > 0 { // which a window needs
		return Reject(CodeInvalidValue, "restart.attempts", "restart.attempts is %d, and %s", s.Restart.Attempts, replaced)
	}
	return nil
}

const replaced = "a job's instances are never started again but replaced: leave it out, and say job.backoff_limit"
