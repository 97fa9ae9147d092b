package main

// snapshotting has the bugs of snapshots.
var snapshotting = []mutant{
	{
		"held-by-another-process", "what an instance did for a snapshot counts although it has begun anew", []edit{{
			"projections/snapshot.go", "to.Phase >= events.PhaseOffline || anotherProcess(i.Seen, to)", "to.Phase >= events.PhaseRemoved",
		}},
	},
	{
		"kept-before-all-hold-still", "volumes are kept before all instances hold still", []edit{{
			"coordinator/snapshot.go", "{events.OperationHold, events.OperationExport}", "{events.OperationExport, events.OperationHold}",
		}},
	},
	{
		"refusal-taken-for-done", "a snapshot counts that an instance refuses", []edit{{
			"projections/verdict.go", "		return fails(i.Confirmed.Refused)\n	default:", "		return reached\n	default:",
		}},
	},
	{
		"snapshot-without-end", "a snapshot that was taken is wanted still", []edit{{
			"projections/operation.go", "if s.Snapshots.Wanted < op.Started {", "if s.Dropped {",
		}},
	},
	{
		"stored-nowhere", "a node says that it has kept a volume, and has not", []edit{{
			"node/runner/export.go", "case err == nil && time.Since(known.Stored) < storedLately:", "case err != nil || time.Since(known.Stored) < storedLately:",
		}},
	},
	{
		"snapshot-of-two-scales", "a snapshot goes on although the service has another scale by now", []edit{{
			"coordinator/snapshot.go", " || op.Total != int(s.Scale)", "",
		}},
	},
	{
		"newcomer-is-kept", "what has come since the others held still is kept with them", []edit{{
			"projections/verdict.go", "spec.Hook(events.OperationHold) != nil && i.Confirmed.Operation != p.op.Started", "p.service.Dropped",
		}},
	},
	{
		"snapshots-made-up-for", "snapshots that were due long ago are taken one after the other", []edit{{
			"coordinator/snapshot.go", "due = due.Add(t.Now.Sub(due).Truncate(every))", "_ = every",
		}},
	},
	{
		"snapshot-not-due", "snapshots are due by themselves, and nobody looks", []edit{{
			"coordinator/deadline.go", "	t.snapshotsDue()\n", "",
		}},
	},
}
