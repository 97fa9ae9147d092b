package main

// working has the bugs of what becomes of jobs.
var working = []mutant{
	{
		"done-once-more", "a job's slot that is done is run once more", []edit{{
			"projections/job.go", "s.Current == nil && !s.Completed()", "s.Current == nil",
		}},
	},
	{
		"ended-well-taken-for-a-failure", "what of a job has ended with exit code 0 is taken for a failure", []edit{{
			"node/view.go", "	if v.job() && code == 0 && ", "	if v.job() && code == 1 && ",
		}},
	},
	{
		"stopped-taken-for-completed", "what of a job was stopped before it had ended is taken for completed", []edit{{
			"node/view.go", "	return v.at(events.PhaseStopped)\n", "	return v.at(events.PhaseCompleted)\n",
		}},
	},
	{
		"leaving-not-counted", "a job's instances that are about to stop are not counted among those that run", []edit{{
			"coordinator/job.go", "		most--\n", "",
		}},
	},
	{
		"no-rest-after-a-failure", "the next instance of a job is placed as soon as one has failed", []edit{{
			"coordinator/job.go", "!t.Now.Before(retryAt(s)) && ", "",
		}},
	},
	{
		"limit-not-kept", "a job goes on although one more instance has failed than may", []edit{{
			"projections/job.go", "s.Job.Failures > *", "s.Job.Failures > 1+*",
		}},
	},
	{
		"runs-overlap", "a run begins before what is left of the one before has stopped", []edit{{
			"coordinator/job.go", "		if s.OfBefore(i) {\n", "		if i.Revision != s.Revision {\n",
		}},
	},
	{
		"schedule-by-another-zone", "runs are due by UTC, whatever zone the spec names", []edit{{
			"events/spec_schedule.go", "schedule.Location = zone(j.TimeZone);", "schedule.Location = zone(DefaultTimeZone);",
		}},
	},
	{
		"due-and-not-looked-at", "a job that waits for its schedule is not looked at when that is due", []edit{{
			"coordinator/job.go", "!s.Settled() || t.fires(s)", "!s.Settled()",
		}},
	},
}
