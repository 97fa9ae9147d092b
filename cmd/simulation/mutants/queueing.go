package main

// queueing has the bugs of commands that wait, and of services that go back.
var queueing = []mutant{
	{
		"queue-jumped", "of the commands that wait the last begins first", []edit{{
			"coordinator/queue.go", "next, scope := queue[0], events.ServiceScope(id)",
			"next, scope := queue[len(queue)-1], events.ServiceScope(id)",
		}},
	},
	{
		"queued-forgotten", "a command that waits never begins", []edit{{
			"coordinator/look.go", "begun, fits := t.begin(id)", "begun, fits := false, true",
		}},
	},
	{
		"queued-beside-the-holder", "a command that waits begins before the other has ended", []edit{{
			"coordinator/queue.go", "len(queue) == 0 || t.Cluster.HolderOf(id) != 0", "len(queue) == 0 || t.Cluster.Recovering",
		}},
	},
	{
		"queue-outlives-supersede", "who takes the holder's place leaves those that wait behind it", []edit{{
			"coordinator/admit_service.go", "t.supersede(r, unended(holder, queue), []", "t.supersede(r, unended(holder, nil), []",
		}},
	},
	{
		"restart-keeps-all", "a restart replaces nothing", []edit{{
			"coordinator/back.go", "	again.Keeps = nil\n", "",
		}},
	},
	{
		"rollback-keeps-all", "a revision that repeats another keeps the instances of every one", []edit{{
			"projections/revision.go", "o.Hash == r.Hash && maps.EqualFunc(o.Images, r.Images, sameImage)", "o.used >= 0 && r.used >= 0",
		}},
	},
	{
		"cancel-keeps-the-scale", "a service that is cancelled keeps the scale that it was to have", []edit{{
			"coordinator/back.go", "return append(changes, scaled(s, scale)...)", "return append(changes, scaled(s, s.Scale)...)",
		}},
	},
	{
		"changed-since-ignored", "a command is taken although its service has changed since the sender looked", []edit{{
			"coordinator/admit_service.go", "s.Changed > seen {", "s.Changed > seen && s.Dropped {",
		}},
	},
	{
		"changed-while-waiting-ignored", "a command that waited begins although its service has changed since the sender looked", []edit{{
			"coordinator/admit_service.go", "IfSeq); err != nil {", "IfSeq); err != nil && t.Looking == (events.ServiceID{}) {",
		}},
	},
}
