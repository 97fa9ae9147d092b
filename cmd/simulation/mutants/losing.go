package main

// losing has the bugs of nodes that are lost and come back.
var losing = []mutant{
	{
		"lost-too-soon", "a node is lost as soon as it is silent, and what runs there", []edit{{
			"coordinator/liveness.go", "	due := since.Add(after)\n", "	due := since.Add(0 * after)\n",
		}},
	},
	{
		"lost-at-take-over", "a leader that takes over counts the silence that nobody was there to hear the end of", []edit{{
			"coordinator/liveness.go", "[]time.Time{n.SilentSince, t.agenda.began, t", "[]time.Time{n.SilentSince, t",
		}},
	},
	{
		"lost-as-evictions-resume", "what is to be lost has no time once evictions go on", []edit{{
			"coordinator/liveness.go", "t.agenda.began, t.Cluster.Evictions.ResumedAt}", "t.agenda.began}",
		}},
	},
	{
		"guard-ignored", "nodes are lost however many are silent", []edit{{
			"coordinator/liveness.go", "if !t.Cluster.Evictions.Paused && t.anySilent() && t.loseNodes() {", "if t.anySilent() && t.loseNodes() {",
		}},
	},
	{
		"own-time-ignored", "instances are lost by the cluster's time alone", []edit{{
			"projections/liveness.go", "own > 0 {", "own < 0 {",
		}},
	},
	{
		"both-stay", "a lost instance is taken back beside the one that stands in for it", []edit{
			{"coordinator/liveness.go", "	case slot.Current == nil || !t.Cluster.Nodes[away.Node].Tells():\n", "	case s.Scale > 0:\n"},
			{"coordinator/liveness.go", "(i.Retired != \"\" || slot.Current == nil || !slices.Contains(slot.Away, i))", "i.Lost"},
			{"projections/liveness.go", "	if away && slot.Current != nil {\n		return\n	}\n", ""},
		},
	},
	{
		"alone-replaced", "a slot that has one instance at a time gets another while nobody knows what became of the first", []edit{
			{"projections/liveness.go", "!s.Alone(i.ID.Ordinal) && spec.Topology == nil && !spec.KeepsVolumes()", "spec.Image != \"\""},
			{"coordinator/look.go", "slot.Remains() == nil", "len(slot.Leaving) == 0"},
			{"coordinator/liveness.go", "s.Current().Spec.Global(), s.Alone(o), !s", "s.Current().Spec.Global(), !s"},
		},
	},
	{
		"away-not-stopped", "a lost instance runs on although the slot shall be something else", []edit{{
			"coordinator/liveness.go", "	case why != \"\":\n		t.retire(away, why)\n", "	case why == events.RetireRevised:\n",
		}},
	},
	{
		"returned-unlisted", "what was lost is taken back before its node has said what it has", []edit{{
			"projections/liveness.go", "n.Heard() && !n.Unlisted }", "n.Heard() }",
		}},
	},
	{
		"newest-stays", "of two instances of a slot the one stays that has served for a shorter time", []edit{{
			"coordinator/liveness.go", "return original.Times.Served < replacement.Times.Served", "return original.Times.Served > replacement.Times.Served",
		}},
	},
	{
		"policy-of-the-other", "the original stays where the replacement is to be kept", []edit{{
			"coordinator/liveness.go", "	case events.ReconcileKeepReplacement:\n		return false\n", "	case events.ReconcileKeepReplacement:\n		return true\n",
		}},
	},
	{
		"lost-and-waited-for", "a command waits for what is lost and shall stop", []edit{{
			"projections/liveness.go", "	if !before && s.isAbsent(i) {", "	if !before && s.isAbsent(i) && i.Retired == \"\" {",
		}},
	},
	{
		"never-lost", "what runs on a silent node counts for ever", []edit{{
			"coordinator/liveness.go", "		t.loseInstances()\n", "",
		}},
	},
}
