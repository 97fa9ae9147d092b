package main

// reading has the bugs of folding the log and of reading the inboxes.
var reading = []mutant{
	{
		"gap-ignored", "the fold takes a message that does not follow the one before, and compares no hash", []edit{
			{"projections/fold.go", "if m.Sequence != f.last+1 {", "if m.Sequence <= f.last {"},
			{"projections/fold.go", "closed.Chain != f.chain || closed.Round != f.Cluster.Round+1", "closed.Round <= f.Cluster.Round"},
		},
	},
	{
		"chain-ignored", "the fold does not compare a round's hash", []edit{{
			"projections/fold.go", "closed.Chain != f.chain || closed.Round", "closed.Round",
		}},
	},
	{
		"torn-round-applied", "the fold applies the events of a torn round", []edit{{
			"projections/fold.go", "	f.held = nil\n	f.chain = f.Cluster.Chain.Extend(m)\n",
			`	for _, held := range f.held {
		if err := f.Cluster.Apply(held); err != nil {
			return nil, err
		}
	}
	f.held = nil
	f.chain = f.Cluster.Chain.Extend(m)
`,
		}},
	},
	{
		"log-read-from-two", "the fold begins with the second message of the log", []edit{{
			"coordinator/runner/follow.go", "c.Bus.Read(ctx, bus.Log, 1)", "c.Bus.Read(ctx, bus.Log, 2)",
		}},
	},
	{
		"inbox-read-one-too-far", "a leader that takes over passes the first command that waits", []edit{{
			"coordinator/runner/takeover.go", "l.cursors.commands+1)", "l.cursors.commands+2)",
		}},
	},
	{
		"new-inbox-read-from-old-cursor", "statuses of a new stream are read from where the old one was left", []edit{{
			"coordinator/runner/takeover.go",
			"&events.ClusterRenewed{Identity: identity}, 0", "&events.ClusterRenewed{Identity: identity}, l.cursors.statuses",
		}},
	},
	{
		"commands-let-go-early", "commands are let go of as soon as they have ended", []edit{{
			"coordinator/runner/effects.go", "now.Sub(cmd.Received) < keepCommands || ", "",
		}},
	},
}
