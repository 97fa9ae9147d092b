package main

// placing has the bugs of where instances run, and of when one takes another's place.
var placing = []mutant{
	{
		"other-image-stays", "an instance that was made from another image than its revision has stays", []edit{{
			"coordinator/look.go", "case i.Differs && s.UpToDate(i):", "case i.Differs && i.Revision != s.Revision:",
		}},
	},
	{
		"silent-node-chosen", "an instance is placed on a node that is not heard", []edit{{
			"coordinator/placement/filter.go", "case !n.Heard():", "case n.Epoch == 0:",
		}},
	},
	{
		"degraded-node-chosen", "an instance is placed on a node whose engine does not answer", []edit{{
			"coordinator/placement/filter.go", "case n.Degraded != \"\":", "case n.Degraded != \"\" && n.Silent:",
		}},
	},
	{
		"paused-node-chosen", "an instance is placed on a node that is paused", []edit{{
			"coordinator/placement/filter.go", "case n.Paused:", "case n.Paused && n.Silent:",
		}},
	},
	{
		"scratch-not-set-aside", "scratch disk takes nothing of the node", []edit{{
			"events/spec_resources.go", "	r.Disk += s.ScratchSize(policy)\n", "",
		}},
	},
	{
		"memory-ignored", "memory that is set aside counts for nothing", []edit{{
			"coordinator/placement/filter.go", "taken.Memory+asks.Memory > has.Memory", "asks.Memory > has.Memory",
		}},
	},
	{
		"default-of-the-node-ignored", "every node sets aside what the policy says where a spec says nothing", []edit{{
			"coordinator/placement/demand.go", "return d.spec.Reserves(n.Facts.Default, d.policy)", "return d.reserves",
		}},
	},
	{
		"reserved-for-ever", "what is set aside for an instance is not given back", []edit{{
			"projections/node.go", "	n.reserved = n.reserved.Minus(i.Takes())\n", "",
		}},
	},
	{
		"skew-off-by-one", "a zone may be ahead of others by one more than the policy says", []edit{{
			"coordinator/placement/spread.go",
			"int64(z.spread)+1-int64(q.least) > int64(q.policy.Spread.MaxSkew)", "int64(z.spread)-int64(q.least) > int64(q.policy.Spread.MaxSkew)",
		}},
	},
	{
		"apart-from-nobody", "what a spec wants to be apart from does not count", []edit{{
			"coordinator/placement/filter.go", "case !d.policy.AntiAffinity.Soft && l.apart > 0:", "case d.policy.AntiAffinity.Soft && l.apart > 0:",
		}},
	},
	{
		"board-forgets-the-retired", "what is remembered of a node does not change as an instance there shall run no more", []edit{{
			"coordinator/placement/board.go", "		b.retired(r.Scope, d)\n", "		_ = d\n",
		}},
	},
	{
		"waits-for-ever", "a slot that waits is not looked at again when a node has something to give", []edit{{
			"coordinator/agenda.go", "		a.shifted = true\n", "		a.shifted = a.shifted && false\n",
		}},
	},
	{
		"port-given-twice", "a port that an instance holds is given to another", []edit{{
			"projections/node.go", "if _, taken := n.ports[next]; !taken {", "if _, taken := n.ports[next]; !taken || next > first {",
		}},
	},
	{
		"ports-uncounted", "a node that has no port left is taken for one that has", []edit{{
			"projections/node.go", "n.offered-n.picked", "n.offered",
		}},
	},
	{
		"port-never-given-back", "an instance that is removed keeps its ports", []edit{{
			"projections/node.go", "			delete(n.ports, p.HostPort)\n", "			n.LastPort = p.HostPort\n",
		}},
	},
	{
		"generation-used-again", "the next instance of a slot has the generation of the one before", []edit{{
			"projections/service.go", "return s.Slots[ordinal].Last + 1", "return max(s.Slots[ordinal].Last, 1)",
		}},
	},
	{
		"generations-of-slots-forgotten", "a slot that is made again begins with the first generation", []edit{{
			"projections/service.go", "		s.Floor = max(s.Floor, s.Slots[n-1].Last)\n", "",
		}},
	},
	{
		"generations-of-services-forgotten", "a service that is made again begins with the first generation", []edit{{
			"projections/apply.go", "		c.GenerationFloor = max(c.GenerationFloor, s.Floor)\n", "",
		}},
	},
	{
		"never-returns", "a silent node that is heard again stays silent", []edit{{
			"coordinator/runner/lead.go", "			l.returned = append(l.returned, a.node)\n", "",
		}},
	},
	{
		"recovers-at-once", "after an adoption instances are placed before the nodes have said what they have", []edit{{
			"coordinator/look.go", "	if t.Cluster.Recovering {\n		return\n	}\n", "",
		}},
	},
	{
		"list-of-nodes-ignored", "an instance is placed on a node that is not on the list of allowed ones", []edit{{
			"coordinator/placement/filter.go", "	case n.NotAllowed:\n		return notAllowed\n", "",
		}},
	},
	{
		"nodes-not-followed", "a global service does not see nodes that come", []edit{{
			"coordinator/agenda.go", "		a.shifted, a.turned, a.unheard = true, true, true\n", "		a.shifted, a.unheard = true, true\n",
		}},
	},
	{
		"labels-of-before", "a node that is given other labels is still taken for what it was", []edit{{
			"coordinator/placement/board.go", "events.NodesAllowed, events.NodeUpdated, events", "events.NodesAllowed, events",
		}},
	},
	{
		"word-of-people-forgotten", "what people say of a node is forgotten with its process", []edit{{
			"projections/node.go", "j.Epoch, j.Incarnation, j.NodeFacts\n", "j.Epoch, j.Incarnation, j.NodeFacts\n	n.Overrides = events.Overrides{}\n",
		}},
	},
	{
		"volumes-left-behind", "a slot's next instance is placed wherever there is room, and its volumes stay where they were", []edit{{
			"projections/service.go", "	return s.Homes[ordinal]\n", "	return s.Homes[ordinal][:0]\n",
		}},
	},
	{
		"failures-forgotten", "a node on which a revision fails again and again gets more of it", []edit{{
			"coordinator/placement/score.go", "			failures = failing\n", "			failures = failing * 0\n",
		}},
	},
	{
		"hold-ignored", "what is new is placed on a node that is held for what has waited longer", []edit{{
			"coordinator/placement/hold.go", "	keeps := held != absent && q.could(held)\n", "	keeps := held < absent\n",
		}},
	},
	{
		"held-from-what-runs", "what takes the place of an instance that was is kept from a node that is held", []edit{{
			"coordinator/placement/hold.go", "holder == s || !s.Fresh(ordinal) || b.before", "holder == s || b.before",
		}},
	},
	{
		"held-for-whoever-asks", "a node that is held is held for another service that began to wait later", []edit{{
			"coordinator/placement/hold.go", "	case now.Service != nil && !q.board.before(q.service, now.Service):\n		return \"\"\n", "",
		}},
	},
	{
		"held-where-nothing-fits", "a node is held that could never have what it is held for", []edit{{
			"coordinator/placement/hold.go", " && q.demand.fits(node, node.Reserved()) == none", " && node != nil",
		}},
	},
}
