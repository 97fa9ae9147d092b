package main

// seeing has the bugs of what the coordinator takes from nodes.
var seeing = []mutant{
	{
		"status-sinks", "a status that is below what is known is taken", []edit{{
			"coordinator/status.go", "!s.Above(i.Seen) || ", "",
		}},
	},
	{
		"status-of-before", "a status of an earlier process of the node is taken", []edit{{
			"coordinator/status.go", "s.Instance != nil && s.Instance.Epoch == n.Epoch", "s.Instance != nil",
		}},
	},
	{
		"removed-unasked", "a node's word that an instance is removed is taken of one that shall run", []edit{{
			"coordinator/status.go",
			"(s.Phase == events.PhaseRemoved || s.Phase == events.PhaseStopped) && i.Retired == \"\"",
			"s.Phase == events.PhaseStopped && i.Retired == \"\"",
		}},
	},
	{
		"orphan-overlooked", "what a node says of an instance that is not known is let go", []edit{{
			"coordinator/status.go", "if !adopts(t.Cluster, n, s) {", "if _, known := n.Strays[s.ID()]; known {",
		}},
	},
	{
		"lists-not-asked-for", "a leader that takes over asks no node what it has", []edit{{
			"coordinator/runner/takeover.go", "	c.list = uint64(lead.clock.now().UnixNano())\n", "",
		}},
	},
}
