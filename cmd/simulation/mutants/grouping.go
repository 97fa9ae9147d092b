package main

// grouping has the bugs of commands to several services.
var grouping = []mutant{
	{
		"stage-before-its-turn", "a stage begins although services before it are not as they shall be", []edit{{
			"coordinator/group.go", "if s == nil || !s.Settled() {", "if s == nil {",
		}},
	},
	{
		"stages-in-no-order", "services do not come after those that they name", []edit{{
			"events/group_ensure.go", "			if !done[other] {", "			if !done[other] && done[name] {",
		}},
	},
	{
		"stops-as-it-starts", "what is to have no instance stops after what it comes after", []edit{{
			"coordinator/admit_group.go", "	slices.Reverse(down)\n", "",
		}},
	},
	{
		"one-stage-goes-back", "a group that is aborted has its last stage alone go back", []edit{{
			"coordinator/group.go", "	case g.Stage > 1:", "	case g.Stage > 1 && !g.Back:",
		}},
	},
	{
		"back-before-the-stage-behind", "on the way back a stage is not waited for", []edit{{
			"coordinator/group.go", "if g.Back && (s == nil || waitsForPeople(s.Operation)) {", "if g.Back {",
		}},
	},
	{
		"goes-on-without-one", "a group goes on although the update of a service has failed", []edit{{
			"coordinator/group.go", "	if slices.Contains(g.Reached(), id) {", "	if slices.Contains(g.Reached(), id) && g.Back {",
		}, {
			"coordinator/group.go", "if g.Back && (s == nil || waitsForPeople(s.Operation)) {", "if s == nil || waitsForPeople(s.Operation) {",
		}},
	},
	{
		"left-as-it-was-changed", "where a service is taken out of a group the others stay as they are", []edit{{
			"coordinator/admit_group.go", "if !slices.Contains(taken, id) {", "if slices.Contains(taken, id) {",
		}},
	},
	{
		"back-to-the-middle", "a group that takes the place of another goes back to what that had begun", []edit{{
			"coordinator/admit_group.go", "t.supersede(r, earlier, nil)", "t.supersede(r, earlier, (&projections.Group{ID: id, Services: c.Services}).Members())",
		}},
	},
	{
		"held-once-it-is-there", "a group does not hold the services that there are not yet", []edit{{
			"projections/group.go", "	return c.members[id]\n", "	return 0\n",
		}},
	},
	{
		"group-without-end", "nobody looks at the deadlines of groups", []edit{{
			"coordinator/deadline.go", "			t.groupDue(g)\n", "",
		}},
	},
	{
		"view-of-one-let-go", "a view shows a service as held that its group has let go", []edit{{
			"events/group.go", "		names = d.Services\n", "		names = d.Services[:0]\n",
		}},
	},
}
