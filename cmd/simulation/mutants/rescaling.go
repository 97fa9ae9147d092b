package main

// rescaling has the bugs of topologies that become others.
var rescaling = []mutant{
	{
		"answers-of-before-count", "what was answered in an earlier phase counts for a later one", []edit{{
			"projections/verdict.go", "case i.Confirmed.Above(wanted), i.Confirmed == wanted:", "case i.Confirmed.Refused == \"\":",
		}},
	},
	{
		"attempts-begin-anew", "attempts are counted anew in each phase, so that an answer of before is above what is asked", []edit{{
			"coordinator/operate.go", "max(d.Attempt, s.Operation.Attempt, 1)", "max(d.Attempt, 1)",
		}},
	},
	{
		"surplus-goes-at-once", "what is too many goes before the others have taken what it had", []edit{{
			"coordinator/look.go", "t.retireFrom(s, s.Span(), events.RetireScaledDown)", "t.retireFrom(s, s.Scale, events.RetireScaledDown)",
		}},
	},
	{
		"acquired-before-released", "instances take what is theirs before the others have released it", []edit{{
			"coordinator/rescale.go", "events.OperationRelease, events.OperationAcquire, events.OperationRetire,\n}", "events.OperationAcquire, events.OperationRelease, events.OperationRetire,\n}",
		}},
	},
	{
		"left-in-the-middle", "a change that was given up in the middle is not taken back", []edit{{
			"projections/topology.go", "s.Topology.Scale != s.Scale || s.Topology.Change != nil)", "s.Topology.Scale != s.Scale)",
		}},
	},
	{
		"config-version-again", "a topology has the config version of one that was given up", []edit{{
			"coordinator/rescale.go", "ConfigVersion: s.Versions + 1, Back:", "ConfigVersion: s.Topology.ConfigVersion + 1, Back:",
		}},
	},
	{
		"hook-not-run", "a node says that a hook has run, and has not run it", []edit{{
			"node/runner/topology.go", "return nil, a.Engine.Ask(ctx, next.Container, *next.Hook, next.Asked, a.Facts.Address)", "return nil, nil",
		}},
	},
	{
		"in-force-too-soon", "the next topology is in force while instances still take what it gives them", []edit{
			{"coordinator/rescale.go", "case events.OperationRelease, events.OperationAcquire:", "case events.OperationRelease:"},
			{"coordinator/rescale.go", "case events.OperationRetire:\n		return", "case events.OperationAcquire, events.OperationRetire:\n		return"},
		},
	},
	{
		"two-of-a-slot", "a slot gets its next instance while the last one still serves what the slot has", []edit{{
			"projections/topology.go", "return spec.Topology != nil || spec.Exclusive", "return spec.Exclusive",
		}},
	},
	{
		"what-came-is-forgotten", "the slots of a change that was given up go before they have given back what they took", []edit{{
			"coordinator/rescale.go", "Slots: uint32(op.Total),", "Slots: max(op.Rescale.From, op.Rescale.To),",
		}},
	},
	{
		"slots-without-an-instance", "a slot that no node can have is not waited for", []edit{{
			"projections/verdict.go", "return p.op.Together() || ordinal < p.service.Scale", "return (p.op.Together() || ordinal < p.service.Scale) && int(ordinal) < len(p.service.Slots)",
		}},
	},
	{
		"retries-without-end", "a phase is tried again and again", []edit{{
			"coordinator/rescale.go", "&& op.Attempt < events.MaxRescaleAttempts", "&& op.Attempt > 0",
		}},
	},
}
