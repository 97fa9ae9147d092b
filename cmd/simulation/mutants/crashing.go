package main

// crashing has the bugs of instances that end again and again.
var crashing = []mutant{
	{
		"crashed-stays", "an instance that used up its restarts stays where it is", []edit{{
			"coordinator/crash.go", "i.NoRestart != events.NoRestartAttempts", "i.NoRestart == events.NoRestartAttempts || i.NoRestart == \"\"",
		}},
	},
	{
		"moves-without-back-off", "what takes the place of an instance that used up its restarts comes at once", []edit{{
			"coordinator/crash.go", "return t.Now.Before(s.RetryAt(ordinal))", "return t.Now.Before(s.RetryAt(ordinal)) && s.Dropped",
		}},
	},
	{
		"back-off-does-not-grow", "how often in a row the instances of a slot used up their restarts is not counted", []edit{{
			"projections/crashes.go", "c.Moves+1, i.Node, now, true", "1, i.Node, now, true",
		}},
	},
	{
		"crashes-where-it-crashed", "the next instance goes to the node on which the one before used up its restarts", []edit{{
			"coordinator/placement/choose.go", "q.chooseApart(b.crashedOn(s, ordinal), held)", "q.chooseApart(absent, held)",
		}},
	},
	{
		"crashed-not-tried-again", "a slot whose instance used up its restarts is not looked at when it is time", []edit{{
			"coordinator/crash.go", "		for o, slot := range s.Slots {\n			if at", "		for o, slot := range s.Slots[:0] {\n			if at",
		}},
	},
	{
		"released-twice", "what rests gives its share of the node back once more as it is removed", []edit{{
			"projections/node.go", "n.reserved = n.reserved.Minus(i.Takes())", "n.reserved = n.reserved.Minus(i.Reserved)",
		}},
	},
	{
		"rest-keeps-its-share", "an instance that has ended for good takes its share of the node until it is removed", []edit{{
			"projections/service.go", "	if i.Rests() {\n", "	if i.Rests() && i.Retired == \"\" && i.NoRestart == \"\" {\n",
		}},
	},
	{
		"moved-under-its-wave", "an instance that used up its restarts is replaced while its wave waits for it", []edit{{
			"coordinator/crash.go", "return op != nil && (op.Together() || slices.Contains(op.Slots, ordinal))", "return op != nil && op.Together() && slices.Contains(op.Slots, ordinal)",
		}},
	},
}
