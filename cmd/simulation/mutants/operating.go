package main

// operating has the bugs of changes that go through a service wave by wave.
var operating = []mutant{
	{
		"skipped-barrier", "a phase is over once all slots but one are done with it", []edit{{
			"projections/barrier/barrier.go", "case len(v.Waits) > 0:", "case len(v.Waits) > 1:",
		}},
	},
	{
		"wave-too-large", "one slot more than may goes with each wave", []edit{{
			"events/spec_update.go", "return min(int(u.Parallelism), waiting)", "return min(int(u.Parallelism)+1, waiting)",
		}},
	},
	{
		"min-healthy-ignored", "an instance counts as soon as it serves", []edit{{
			"projections/verdict.go", "if serves && !p.now.Before(since.Add(least)) {", "if serves && !since.IsZero() {",
		}},
	},
	{
		"break-unnoticed", "an instance that serves again counts as if it had throughout", []edit{{
			"projections/operation.go", "		delete(op.Serves, i.ID.Ordinal)\n	}\n}\n\n// servesNoMore", "		_ = op\n	}\n}\n\n// servesNoMore",
		}},
	},
	{
		"monitor-blind", "nobody looks at what is watched", []edit{{
			"projections/verdict.go", "!serves || since.After(p.op.Entered) {", "!serves && since.After(p.op.Entered) {",
		}},
	},
	{
		"retires-what-nothing-follows", "an instance goes although nothing has come beside it and nothing can", []edit{{
			"coordinator/operate.go", "	return slot.Next != nil || allAtOnce(s)", "	return startsFirst(s) || allAtOnce(s)",
		}},
	},
	{
		"canaries-not-waited-for", "an update goes on after its canaries, whatever people say", []edit{{
			"coordinator/phases.go", "s.Operation.Wave == 1 && s.Operation.Kind", "s.Operation.Wave == 0 && s.Operation.Kind",
		}},
	},
	{
		"promotion-has-a-deadline", "a command fails while its canaries wait for people", []edit{{
			"coordinator/deadline.go", " || phase == events.OperationPromote || ", " || ",
		}},
	},
	{
		"promote-takes-the-turn", "a promotion takes the service over from the command that began the update", []edit{{
			"projections/apply.go", " && d.Verb != promoteVerb", "",
		}},
	},
	{
		"failures-of-before-forgotten", "of the slots that failed only those of the present phase count", []edit{{
			"coordinator/failure.go", "float64(op.Failed+len(v.Broken))", "float64(len(v.Broken))",
		}},
	},
	{
		"rollback-on-failure-forgotten", "an update that is to go back by itself is paused", []edit{{
			"coordinator/failure.go", ".OnFailure == events.FailureRollback &&", ".OnFailure == events.FailureContinue &&",
		}},
	},
	{
		"paused-goes-on", "a paused update goes on by itself", []edit{{
			"coordinator/operate.go", `if s.Operation.Paused != "" {`, `if s.Operation.Paused != "" && s.Dropped {`,
		}},
	},
	{
		"next-wave-heals-anew", "a slot whose wave has not come is healed in the next revision", []edit{{
			"projections/operation.go", "	return op.From\n", "	return s.Revision\n",
		}},
	},
	{
		"stop-first-comes-at-once", "what comes does not wait for what was before to be gone", []edit{{
			"coordinator/phases.go", "op.Phase == events.OperationRetire && !startsFirst(s)", "op.Phase == events.OperationWait && !startsFirst(s)",
		}},
	},
	{
		"volume-of-two", "what writes to a slot's volumes comes before what did is gone", []edit{{
			"coordinator/look.go", ` &&
		(slot.Remains() == nil || !s.Alone(ordinal))`, "",
		}},
	},
	{
		"retired-as-the-next-starts", "what was before goes before the next serves", []edit{{
			"coordinator/operate.go", "return t.startWave(s) && t.fill", "return t.startWave(s) && t.retireWave(s) && t.fill",
		}},
	},
	{
		"stops-without-a-successor", "what was before goes although no node could have what comes", []edit{{
			"coordinator/operate.go", "!s.UpToDate(i) && t.mayGo(s, slot) && !t.retire", "!s.UpToDate(i) && !t.retire",
		}},
	},
	{
		"operation-of-before-goes-on", "an operation outlives the revision that it was for", []edit{{
			"coordinator/operate.go", "s.Operation.Revision != s.Revision\n", "s.Operation.Revision > s.Revision\n",
		}},
	},
	{
		"time-counts-while-nobody-leads", "slots fail for the time in which there was no leader to hear them", []edit{{
			"projections/verdict.go", "p.now.Before(p.op.since().Add(", "p.now.Before(p.op.Entered.Add(",
		}},
	},
	{
		"prolonged-without-end", "a phase has its whole time once more with every round of a leader", []edit{{
			"coordinator/runner/decide.go", "nil, nil, nil, rest.inherited\n", "nil, nil, nil, in.inherited\n",
		}},
	},
	{
		"how-replaces-all", "a change of how instances are replaced replaces them", []edit{{
			"coordinator/admit_service.go", "s != nil && replacesNothing(s, c.Spec)", "s != nil && replacesNothing(s, c.Spec) && s.Dropped",
		}},
	},
	{
		"barrier-makes-room", "behind a barrier what no node has room for beside the one before has that one go", []edit{{
			"coordinator/operate.go", "!behindBarrier(s) && t.agenda.board.CouldInstead", "t.agenda.board.CouldInstead",
		}},
	},
	{
		"barrier-retires-before-it-watches", "behind a barrier those before go as soon as the next serve", []edit{{
			"coordinator/phases.go", "events.OperationPrepare, events.OperationStart, events.OperationMonitor, events.OperationRetire}",
			"events.OperationPrepare, events.OperationStart, events.OperationRetire, events.OperationMonitor}",
		}},
	},
	{
		"barrier-prepares-what-is-there", "an instance of before passes for the next one that is made", []edit{{
			"projections/verdict.go", "(p.op.Together() || p.service.UpToDate(i)) && i.Seen.Phase >= events.PhasePrepared", "i.Seen.Phase >= events.PhasePrepared",
		}},
	},
	{
		"barrier-goes-one-by-one", "behind a barrier slots go by themselves", []edit{{
			"events/spec_update.go", "	case u.Strategy != UpdateRolling:\n", "	case u.Strategy == UpdateRecreate:\n",
		}},
	},
}
