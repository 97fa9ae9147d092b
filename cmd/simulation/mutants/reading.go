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
			"coordinator/runner/foldsnapshots.go", "f.bus.Read(ctx, bus.Log, 1)", "f.bus.Read(ctx, bus.Log, 2)",
		}},
	},
	{
		"fold-snapshot-not-verified", "a snapshot of the fold is taken as it is, whatever it says of itself", []edit{
			{"projections/fold_snapshot.go", "hex.EncodeToString(sum[:]) != head.Sum {", "hex.EncodeToString(sum[:]) == \"\" {"},
			{"projections/fold_snapshot.go", " || c.Hash() != head.Hash {", " {"},
		},
	},
	{
		"fold-snapshot-lacks-a-round", "a snapshot of the fold has the end of its last round, and not the commands of it", []edit{{
			"projections/fold_snapshot.go", "	state, err := json.Marshal(c, foldOptions()...)\n",
			`	for sequence, cmd := range c.Commands {
		if cmd.Received.Equal(c.Now) {
			delete(c.Commands, sequence)
		}
	}
	state, err := json.Marshal(c, foldOptions()...)
`,
		}},
	},
	{
		"fold-snapshot-without-open-commands", "a fold that begins with a snapshot has forgotten which commands have not ended", []edit{{
			"projections/reindex.go", "			c.open[sequence] = struct{}{}\n", "",
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
