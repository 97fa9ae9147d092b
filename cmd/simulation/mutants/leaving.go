package main

// leaving has the bugs of nodes that are drained or forgotten.
var leaving = []mutant{
	{
		"drain-stops-first", "an instance whose node is drained stops before its successor serves", []edit{{
			"coordinator/drain.go", "		if t.succeeds(s, slot) {\n", "		if slot.Next.Seen.Phase >= 0 {\n",
		}},
	},
	{
		"drain-does-not-wait", "a successor counts as soon as it serves, and clients have no time to learn of it", []edit{{
			"coordinator/drain.go", "!t.Now.Before(slot.NextServes.Add(least))", "least >= 0",
		}},
	},
	{
		"drain-forgets-deadline", "what is left on a node at the deadline of its drain stays", []edit{{
			"coordinator/drain.go", "		case over:\n", "		case over && len(left) == 0:\n",
		}},
	},
	{
		"drained-with-instances-left", "a node is said to be drained while something is left", []edit{{
			"coordinator/drain.go", "	if n.Instances() > 0 || len(n.Strays) > 0 ||", "	if n.Instances() > 1 ||",
		}},
	},
	{
		"drained-node-chosen", "an instance is placed on a node that is drained", []edit{{
			"coordinator/placement/filter.go", "case n.Drain != nil:", "case n.Drain != nil && n.Paused:",
		}},
	},
	{
		"undo-ignored", "a drain that is taken back goes on", []edit{{
			"projections/apply.go", "n.Paused, n.Drain = false, nil", "n.Paused = false",
		}},
	},
	{
		"drain-never-ends", "the command that drained a node has no end", []edit{{
			"coordinator/drain.go", "	if command != 0 {\n", "	if command != 0 && n.Drain.Forced {\n",
		}},
	},
	{
		"forgotten-epoch-restarts", "a node that was forgotten and is back begins with the first epoch again", []edit{{
			"projections/apply.go", "		c.NodeEpochFloor = max(c.NodeEpochFloor, d.Epoch)\n", "",
		}},
	},
	{
		"forgets-what-is-heard", "a node that is heard can be forgotten", []edit{{
			"coordinator/forget.go", "	if n.Heard() {\n", "	if n.Heard() && n.Silent {\n",
		}},
	},
}
