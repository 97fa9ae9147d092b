package main

// moving has the bugs of instances that move to another node.
var moving = []mutant{
	{
		"moved-before-it-serves", "an instance that moves is stopped before its successor serves", []edit{{
			"coordinator/rebalance.go", "case moves && next.Seen.Phase == events.PhaseOnline && !next.Lost && !t.Cluster.Nodes[slot.Current.Node].Draining():", "case moves && next.Seen.Phase >= events.PhasePrepared:",
		}},
	},
	{
		"all-move-at-once", "the next instance moves before the one before has", []edit{{
			"projections/rebalance.go", "return slot.Next != nil || slices", "return slices",
		}},
	},
	{
		"moves-not-counted", "more instances move than may", []edit{{
			"projections/rebalance.go", "		c.Rebalance.Begun++\n", "",
		}},
	},
	{
		"moved-without-its-volumes", "a slot moves and leaves its volumes behind, and nobody asked for that", []edit{{
			"coordinator/placement/move.go", " || (s.Current().Spec.KeepsVolumes() && !terms.Volumes)", "",
		}},
	},
	{
		"zones-of-the-one-that-moves", "the instance that moves counts in its zone as if it stayed", []edit{{
			"coordinator/placement/move.go", "	q.take(gone)\n	m := Move", "	m := Move",
		}},
	},
}
