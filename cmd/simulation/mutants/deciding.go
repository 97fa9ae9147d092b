package main

// deciding has the bugs of what becomes of commands, and of when.
var deciding = []mutant{
	{
		"duplicate-runs-twice", "a command whose id was seen before is decided once more", []edit{{
			"coordinator/admit.go",
			"KnownID(r.Source, r.ID); known != nil {", "KnownID(r.Source, r.ID); known != nil && known.Sequence == r.Sequence {",
		}},
	},
	{
		"superseded-never-ends", "a command that another takes the place of gets no end", []edit{{
			"coordinator/admit_service.go", "		t.emit(earlier.Scope(), events.CommandSuperseded{Sequence: sequence, By: r.Sequence})\n", "",
		}},
	},
	{
		"success-too-early", "a command succeeds while instances of before are not gone", []edit{{
			"projections/service.go", "s.serving == int(s.Scale) && s.total-s.absent == int(s.Scale)", "s.serving == int(s.Scale)",
		}},
	},
	{
		"no-deadline", "no command fails at its deadline", []edit{{
			"coordinator/runner/decide.go", "		turn.Due()\n", "",
		}},
	},
	{
		"clock-in-a-decision", "an event is of the time at which it is decided, and not of its round's", []edit{{
			"coordinator/turn.go", "Time:     t.Now,", "Time:     time.Now(),",
		}},
	},
	{
		"other-body-repeats", "a command that has another body than the one whose id it has is taken for it", []edit{{
			"coordinator/admit.go", "	if known.Digest == r.Digest {\n		t.emit", "	if known.Digest != \"\" {\n		t.emit",
		}},
	},
	{
		"scale-off-by-one", "a service gets one instance more than was asked for", []edit{{
			"coordinator/admit_service.go", "	if s.Scale == scale {\n", "	if scale++; s.Scale == scale {\n",
		}},
	},
	{
		"live-state-differs", "the state that a leader keeps is another than the log folds to", []edit{{
			"coordinator/runner/commit.go", "	l.cluster.Close(last, round.Closed, round.Chain)\n",
			"	round.Closed.Leader += \"?\"\n	l.cluster.Close(last, round.Closed, round.Chain)\n",
		}},
	},
}
