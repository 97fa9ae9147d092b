package main

// found has the bugs that the simulation found. Each is named as the plan that is kept for it, and tried by
// that plan: one that its bug does not break holds nothing.
var found = []bug{
	{
		"take-over-while-another-leads-on", "a leader that closes a round while another takes over looks like a restored log", []edit{{
			"coordinator/runner/adopt.go",
			`	state, err := b.State(ctx, bus.Log)
	if err != nil {
		return err
	}
	if mark.Log == c.LogID() && mark.Closed <= state.Last {
		return fmt.Errorf("%w: it has closed a round while this one took over", errLost)
	}
`, "",
		}},
	},
	{
		"wall-clock-jumps-while-leading", "rounds are decided by the wall's clock, which jumps, and not by the term's", []edit{{
			"coordinator/runner/decide.go", "now := l.clock.now()\n", "now := l.Now().UTC().Truncate(time.Millisecond)\n",
		}},
	},
	{
		"full-log-folded-every-second", "a full log is folded and tried again every second", []edit{{
			"coordinator/runner/runner.go", "		return retryFullAfter\n", "		return min(retryFullAfter, retryAfter)\n",
		}},
	},
	{
		"standby-folds-with-every-try", "a standby folds the whole log again with every try for the lease that fails", []edit{{
			"coordinator/runner/follow.go", "			claim.Reset(claimAgain(held, seen))\n			seen = held\n",
			"			if seen == 0 {\n				return nil, errLost\n			}\n			claim.Reset(claimAgain(held, seen))\n",
		}},
	},
	{
		"service-made-again-taken-for-the-one-before", "placement takes a service that was removed and made again for the one before", []edit{
			{"coordinator/placement/board.go", "	stale bool\n", "	stale bool\n	first map[change]*projections.Revision\n"},
			{
				"coordinator/placement/board.go", "	return b.cluster.Service(id).Revisions[number]\n",
				`	key := change{service: id, rank: int32(number)}
	if r := b.first[key]; r != nil {
		return r
	}
	if b.first == nil {
		b.first = map[change]*projections.Revision{}
	}
	b.first[key] = b.cluster.Services[id].Revisions[number]
	return b.first[key]
`,
			},
		},
	},
	{
		"view-of-a-slot-with-an-old-reason", "the view of a slot that waits keeps the reason of before", []edit{{
			"projections/views/value.go", "events.ServiceRemoved,\n			events.InstancePending:", "events.ServiceRemoved:",
		}},
	},
	{
		"view-of-a-slot-that-is-gone", "slots of a service that is made smaller stay in the view of instances", []edit{{
			"projections/views/writer.go", "	w.trim(changes)\n", "",
		}},
	},
	{
		"orders-made-anew", "orders of a stream that was made anew are held to be older than those of before", []edit{{
			"node/runner/orders.go", "		in.sequence = 0\n", "		in.sequence = max(in.sequence, 0)\n",
		}},
	},
	{
		"marks-of-a-later-leader", "a leader writes its mark over that of a later one", []edit{{
			"coordinator/runner/adopt.go", "	case mark.Epoch > epoch:\n", "	case mark.Epoch > epoch && mark.Epoch < epoch:\n",
		}},
	},
	{
		"order-of-before-the-reading", "an order from before a reading is obeyed for an instance that the reading forgot", []edit{{
			"node/runner/orders.go", "(o.order.Action == events.ActionForget || o.sequence <= a.readTo)", "o.order.Action == events.ActionForget",
		}},
	},
	{
		"container-turns-up-after-it-was-forgotten", "a container that turns up after its instance was forgotten is not told of", []edit{{
			"node/view.go", "	case v.Phase >= events.PhaseCompleted && v.Order.Action != events.ActionForget:\n", "	case v.Phase >= events.PhaseCompleted:\n",
		}},
	},
	{
		"container-made-after-its-end", "what a pull has made after its instance was gone is neither looked for nor found", []edit{
			{
				"node/runner/steps.go", "	if c == nil {\n		var err error\n",
				"	if c == nil {\n		return nil\n	}\n	if c == nil {\n		var err error\n",
			},
			{
				"node/runner/look.go", "	for i, c := range containers {\n",
				"	for i, c := range containers {\n		if in := a.instances[c.Instance]; in == nil || in.view.Phase >= events.PhaseStopped {\n			continue\n		}\n",
			},
		},
	},
	{
		"revision-without-room", "a new revision waits for room for one instance more, and makes none", []edit{{
			"coordinator/operate.go", "&& !s.Current().Spec.BehindBarrier() && t.agenda.board.CouldInstead(s, i) {", "&& s.Dropped {",
		}},
	},
	{
		"view-of-a-node-that-is-not-allowed", "nodes that are allowed or not by a new list keep their views", []edit{{
			"projections/views/value.go", "			changes.nodes(c)\n", "			_ = changes\n",
		}},
	},
	{
		"slot-said-to-wait-that-another-makes-room-for", "a slot is said to wait before the others that may make room for it are placed", []edit{{
			"coordinator/look.go", "		if s.Filled() == before {\n", "		if s.Filled() >= before {\n",
		}},
	},
	{
		"job-of-before-stays", "what a job has left keeps its slot in the service that it has become, where no node has room for one more", []edit{{
			"coordinator/look.go", "	case i.Seen.Phase == events.PhaseCompleted && s.Job == nil:\n		return events.RetireCompleted\n", "",
		}},
	},
	{
		"paused-while-it-rested", "what is asked of a service whose update is paused in a phase of waiting has no deadline", []edit{{
			"coordinator/deadline.go", "	case s.Operation != nil && s.Operation.Paused == \"\":\n", "	case s.Operation != nil:\n",
		}},
	},
	{
		"job-failed-before-stays", "what has failed of a job stays in the service that it has become, although nobody starts it again", []edit{{
			"coordinator/look.go", "	case i.Seen.Phase == events.PhaseOffline && s.Job == nil && s.Revisions[i.Revision].Spec.IsJob():\n		return events.RetireFailed\n", "",
		}},
	},
	{
		"view-of-a-slot-whose-turn-comes", "slots of a job that wait for their turn keep the reason of before", []edit{{
			"projections/views/value.go", "!shown && s != nil && s.Job != nil {", "shown && s != nil && s.Job == nil {",
		}},
	},
	{
		"view-of-a-job-given-up", "slots of a job that is given up keep the reason why they waited before", []edit{{
			"projections/views/value.go", "s != nil && s.GivenUp() {", "s != nil && s.Dropped {",
		}},
	},
	{
		"misfits-without-successors", "of a node that becomes another the successors on it are not looked at", []edit{{
			"coordinator/placement/misfit.go", "{slot.Current, slot.Next}", "{slot.Current}",
		}},
	},
	{
		"paused-service-is-rebalanced", "instances of a service move while its update is paused", []edit{{
			"coordinator/placement/move.go", "s.Operation != nil || ", "",
		}},
	},
	{
		"volumes-lost-in-healing", "a slot that is healed in its earlier revision may leave the volumes which that has", []edit{{
			"projections/service.go", "s.Revisions[s.Target(ordinal)].Spec.KeepsVolumes()", "s.Current().Spec.KeepsVolumes()",
		}},
	},
	{
		"volumes-of-one-of-before", "a slot gets volumes that an instance before the last may still write to", []edit{{
			"projections/topology.go", " || (spec.KeepsVolumes() && s.writes(ordinal))", "",
		}},
	},
	{
		"ended-between-addresses-and-orders", "a leader that is to end sends orders to stop before the addresses are withdrawn", []edit{{
			"coordinator/runner/effects.go", "	return l.ctx.Err()\n}\n\n// sendFates", "	return nil\n}\n\n// sendFates",
		}},
	},
	{
		"not-healed-behind-one-that-waits", "slots of an earlier revision are left alone behind one that waits for a node", []edit{{
			"coordinator/look.go", "(full.have(of) ||", "(len(full) > 0 ||",
		}},
	},
	{
		"adopted-and-still-a-stray", "an instance that the log takes in again after a restore is held to be a stray, too", []edit{{
			"projections/apply.go",
			"		delete(c.node(d.Node).Strays, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})\n", "",
		}},
	},
	{
		"view-of-a-slot-of-the-topology", "empty slots that the topology has beyond the scale are not in the view", []edit{
			{"projections/views/single.go", "		shown = max(shown, int(s.Span()))\n", "		shown = max(shown, int(s.Scale))\n"},
			{"projections/views/value.go", "	case !s.Has(ordinal) || s.Dropped:", "	case ordinal >= s.Scale || s.Dropped:"},
			{"projections/views/value.go", "			if d.Change == nil { // there", "			if d.ConfigVersion == 0 { // there"},
		},
	},
	{
		"late-order-of-a-lost-stream", "an order that comes late, of a stream that was lost, stands above those of the one made anew", []edit{
			{"node/runner/orders.go", "	case a.missed(o) || o.order.Stream != a.stream:\n", "	case a.missed(o):\n"},
			{"node/runner/orders.go", `		if a.stream == "" || o.order.Stream == a.stream {`, `		if a.stream == "" || o.order.Stream != "" {`},
		},
	},
	{
		"suspended-without-a-slot", "the suspension of a service that has no slot by then begins again without end", []edit{{
			"projections/operation.go", "d.Outcome == events.OperationDone && s.Suspension != nil", "len(op.Slots) > 0 && s.Suspension != nil",
		}},
	},
	{
		"forgotten-home-kept", "volumes of a node that is forgotten are waited for", []edit{{
			"projections/drain.go", "			if home == n.Name {\n", "			if home == n.Name && !n.Forgotten {\n",
		}},
	},
	{
		"snapshot-of-a-host-made-anew", "what held still for a snapshot before its host came back empty is taken to hold still there", []edit{{
			"projections/snapshot.go", "	return to.Attempt != from.Attempt ||\n", "	return to.Attempt != from.Attempt || to.Epoch == 0 &&\n",
		}},
	},
	{
		"address-brought-back", "a coordinator that another has overtaken writes the endpoints of before again as it begins to lead", []edit{{
			"projections/views/writer.go", "	if newest <= w.latest {\n", "	if w.done == 0 || newest <= w.latest {\n",
		}},
	},
	{
		"statuses-emptied-under-one-identity", "a stream of statuses that servers made again under its identity is read on from behind its end", []edit{{
			"coordinator/runner/takeover.go", "	return s.Identity != identity || s.Last < cursor\n", "	return s.Identity != identity\n",
		}},
	},
	{
		"log-told-twice", "a standby ends when its reader begins again with a message that it has read", []edit{{
			"coordinator/runner/follow.go", "	if m.Sequence <= f.fold.Last() {\n", "	if m.Sequence == 0 {\n",
		}},
	},
}
