package main

// ordering has the bugs of the orders that leaders write.
var ordering = []mutant{
	{
		"orders-before-append", "orders and fates are told before their round is in the log", []edit{
			{
				"coordinator/runner/decide.go", "	if err == nil {\n		err = l.commit(turn, taken{in.before(rest), took})\n	}\n",
				`	if err == nil {
		err = l.publish(turn.Records)
	}
	if err == nil {
		err = l.commit(turn, taken{in.before(rest), took})
	}
`,
			},
			{
				"coordinator/runner/decide.go",
				"	if err := l.publish(turn.Records); err != nil {\n		return err\n	}\n	l.putBack(rest)\n", "	l.putBack(rest)\n",
			},
		},
	},
	{
		"ex-leader-orders", "orders are stored wherever their stream ends, whoever leads by now", []edit{{
			"coordinator/runner/orders.go",
			"	last, err := l.Bus.Append(call, bus.Orders, l.orders, batch)\n",
			`	end, err := l.Bus.State(call, bus.Orders)
	if err != nil {
		return err
	}
	last, err := l.Bus.Append(call, bus.Orders, end.Last, batch)
`,
		}},
	},
	{
		"orders-not-mended", "a leader that takes over writes no order that the one before left undone", []edit{{
			"coordinator/runner/orders.go", "slices.Chunk(repairs, bus.MaxBatch)", "slices.Chunk(repairs[:0], bus.MaxBatch)",
		}},
	},
	{
		"stop-forgotten-early", "the order to stop is forgotten before the instance is removed", []edit{{
			"coordinator/runner/orders.go", "	case events.StrayFound:\n",
			`	case events.InstanceStopped:
		id := events.InstanceID{Service: service, Ordinal: d.Ordinal, Generation: d.Generation}
		changed.put(events.OrderSubject(d.Node, id), forget)
	case events.StrayFound:
`,
		}},
	},
	{
		"stray-left", "a container that nobody knows is not ordered to stop", []edit{{
			"coordinator/runner/orders.go",
			`		if n := l.cluster.Nodes[node]; n != nil && n.Strays[d.ID()] != nil {
			changed.put(events.OrderSubject(node, d.ID()), l.cluster.StrayOrder(n.Strays[d.ID()]))
		}
`, "",
		}},
	},
	{
		"peers-of-other-slots", "the addresses of peers are those of the next slots", []edit{{
			"projections/order.go", "		return s.addresses(ordinal)\n", "		return s.addresses(ordinal + 1)\n",
		}},
	},
	{
		"peers-that-leave", "the address of a slot's peer is that of the instance which leaves it", []edit{{
			"projections/order.go", "	i := s.Slots[ordinal].Current\n	return events.Addresses",
			"	i := s.Slots[ordinal].Current\n	for _, leaving := range s.Slots[ordinal].Leaving {\n		i = leaving\n	}\n	return events.Addresses",
		}},
	},
}
