package main

// differing has the bugs of decisions that do not follow from the log alone: one seed then gives two runs.
var differing = []mutant{
	{
		"map-order-of-services", "services are looked at in the order of a map", []edit{{
			"coordinator/agenda.go",
			"return cmp.Or(byWaiting(c.Services[x], c.Services[y]), x.Compare(y))", "return cmp.Or(byWaiting(c.Services[x], c.Services[y]), 0)",
		}},
	},
	{
		"map-order-of-nodes", "of nodes that are alike the first of a map is chosen", []edit{{
			"coordinator/placement/board.go",
			"	slices.SortFunc(b.nodes, func(x, y *projections.Node) int { return strings.Compare(x.Name, y.Name) })\n", "	_ = strings.Compare\n",
		}},
	},
}
