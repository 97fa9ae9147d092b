package main

// seeing has the bugs of what the coordinator takes from nodes, and of what it shows people.
var seeing = []mutant{
	{
		"stopped-while-reached", "orders to stop do not wait until nobody is sent there any more", []edit{{
			"coordinator/runner/effects.go", "if views.Withdraws(records) {", "if views.Withdraws(nil) {",
		}},
	},
	{
		"reached-as-it-leaves", "what shall stop is to be reached until it is gone", []edit{{
			"projections/views/endpoints.go", "i == nil || i.Retired != \"\" || i.Lost", "i == nil || i.Lost",
		}},
	},
	{
		"port-of-before", "a port that a service has no more is to be reached still", []edit{{
			"projections/views/writer.go", "if !slices.Contains(ports, gone) {", "if len(ports) > 9 {",
		}},
	},
	{
		"status-sinks", "a status that is below what is known is taken", []edit{{
			"coordinator/status.go", "s.Above(i.Seen) && (!same || i.Lost)", "!same || i.Lost",
		}},
	},
	{
		"status-of-before", "a status of an earlier process of the node is taken", []edit{{
			"coordinator/status.go", "s.Instance != nil && s.Instance.Epoch == n.Epoch", "s.Instance != nil",
		}},
	},
	{
		"degraded-never-told", "a node does not say that its engine answers no more", []edit{{
			"node/runner/answering.go", "before == \"\" && after != \"\":", "before == \"\" && after != \"\":\n		return",
		}, {
			"node/runner/heartbeat.go", "answer.Degraded != (a.answering.Degraded != \"\")", "answer.Degraded && a.answering.Degraded == \"\"",
		}},
	},
	{
		"recovered-never-told", "a node does not say that its engine answers again", []edit{{
			"node/runner/answering.go", "before != \"\" && after == \"\":", "before != \"\" && after == \"\":\n		return",
		}, {
			"node/runner/heartbeat.go", "answer.Degraded != (a.answering.Degraded != \"\")", "!answer.Degraded && a.answering.Degraded != \"\"",
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
			"coordinator/runner/takeover.go", "	c.list, c.lists = uint64(lead.clock.now().UnixNano()), map[string]uint64{}\n", "	c.lists = map[string]uint64{}\n",
		}},
	},
	{
		"operation-shown-of-what-is-gone", "what an operation came to is shown although its service is gone", []edit{{
			"projections/views/value.go", "[Key{bus.BucketServices, key}], ch.Values[Key{bus.BucketOperations, key}] = nil, nil", "[Key{bus.BucketServices, key}] = nil",
		}},
	},
	{
		"end-of-before-shown", "of several operations people are shown what the first came to", []edit{{
			"projections/operation.go", "		s.Operation, s.Last = nil, op.end(r, d)\n",
			"		if s.Operation = nil; s.Last == nil {\n			s.Last = op.end(r, d)\n		}\n",
		}},
	},
	{
		"pause-unshown", "an operation that stands still is shown as one that goes on", []edit{{
			"projections/views/operation.go", "Failed: op.Failed, Paused: op.Paused,", "Failed: op.Failed,",
		}},
	},
}
