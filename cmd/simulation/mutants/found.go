package main

// found lists the bugs that were found. Each has the name of the kept plan that tries it, or a test in besidePlans. A kept plan that its bug
// does not break proves nothing.
var found = []bug{
	{
		"statuses-emptied-and-filled-between-two-looks", "the leader does not see that all servers have lost the statuses, as nodes have sent more by its next look than it had read", []edit{{
			"coordinator/runner/failover.go", "	if l.known.isBefore(s) {\n		return true, nil\n	}\n", "",
		}},
	},
	{
		"statuses-made-again-under-one-identity", "the leader goes on in the middle of statuses that a standby has made again, as it cannot tell them from those before", []edit{{
			"events/bus/memory/memory.go", "		b.Remake(stream)\n		return nil\n", "		b.Empty(stream)\n		return nil\n",
		}},
	},
	{
		"take-over-while-another-leads-on", "a leader takes a round that another closed during the failover for a restored log", []edit{{
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
		"wall-clock-jumps-while-leading", "the leader decides rounds by the wall clock, which jumps, and not by the clock of its term", []edit{{
			"coordinator/runner/decide.go", "now := l.clock.now()\n", "now := l.Now().UTC().Truncate(time.Millisecond)\n",
		}},
	},
	{
		"full-log-folded-every-second", "a coordinator folds a full log and tries to append to it every second", []edit{{
			"coordinator/runner/runner.go", "		return retryFullAfter\n", "		return min(retryFullAfter, retryAfter)\n",
		}},
	},
	{
		"standby-folds-with-every-try", "a standby folds the whole log again after every failed try for the lease", []edit{{
			"coordinator/runner/follow.go", "			claim.Reset(claimAgain(held, seen))\n			seen = held\n",
			"			if seen == 0 {\n				return nil, errLost\n			}\n			claim.Reset(claimAgain(held, seen))\n",
		}},
	},
	{
		"service-made-again-taken-for-the-one-before", "placement takes a service that was removed and created again for the earlier one", []edit{
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
		"view-of-a-slot-with-an-old-reason", "the view of a slot that waits keeps an outdated reason", []edit{{
			"projections/views/value.go", "events.ServiceRemoved,\n			events.InstancePending:", "events.ServiceRemoved:",
		}},
	},
	{
		"view-of-a-slot-that-is-gone", "removed slots of a service that is scaled down stay in the view of instances", []edit{{
			"projections/views/writer.go", "	w.trim(changes)\n", "",
		}},
	},
	{
		"orders-made-anew", "a node takes the orders of a stream that was created again for older than those of the lost stream", []edit{{
			"node/runner/orders.go", "		in.sequence = 0\n", "		in.sequence = max(in.sequence, 0)\n",
		}},
	},
	{
		"marks-of-a-later-leader", "a leader overwrites the mark of a later leader", []edit{{
			"coordinator/runner/adopt.go", "	case mark.Epoch > epoch:\n", "	case mark.Epoch > epoch && mark.Epoch < epoch:\n",
		}},
	},
	{
		"order-of-before-the-reading", "a node obeys an order from before it read all orders, for an instance that it forgot as it read them", []edit{{
			"node/runner/orders.go", "(o.order.Action == events.ActionForget || o.sequence <= a.readTo)", "o.order.Action == events.ActionForget",
		}},
	},
	{
		"container-turns-up-after-it-was-forgotten", "a node does not report a container that turns up after its instance was forgotten", []edit{{
			"node/view.go", "	case v.Phase >= events.PhaseCompleted && v.Order.Action != events.ActionForget:\n", "	case v.Phase >= events.PhaseCompleted:\n",
		}},
	},
	{
		"container-made-after-its-end", "a node does not find a container that a slow pull made after its instance was gone", []edit{
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
		"revision-without-room", "a new revision waits for room for one more instance, and stops no old one to make room", []edit{{
			"coordinator/operate.go", "&& !s.Current().Spec.BehindBarrier() && t.work.board.CouldInstead(s, i) {", "&& s.Dropped {",
		}},
	},
	{
		"view-of-a-node-that-is-not-allowed", "the views of nodes do not follow a new list of allowed nodes", []edit{{
			"projections/views/value.go", "			changes.nodes(c)\n", "			_ = changes\n",
		}},
	},
	{
		"slot-said-to-wait-that-another-makes-room-for", "a slot counts as waiting before the leader has placed others that may make room", []edit{{
			"coordinator/look.go", "		if s.Filled() == before {\n", "		if s.Filled() >= before {\n",
		}},
	},
	{
		"job-of-before-stays", "a completed instance of a job keeps its slot in a full cluster after the job has become a service", []edit{{
			"coordinator/look.go", "	case i.Seen.Phase == events.PhaseCompleted && s.Job == nil:\n		return events.RetireCompleted\n", "",
		}},
	},
	{
		"paused-while-it-rested", "a command to a service whose update is paused in a waiting phase has no deadline", []edit{{
			"coordinator/deadline.go", "	case s.Operation != nil && s.Operation.Paused == \"\":\n", "	case s.Operation != nil:\n",
		}},
	},
	{
		"job-failed-before-stays", "a failed instance of a job stays after the job has become a service, although no node starts it again", []edit{{
			"coordinator/look.go", "	case i.Seen.Phase == events.PhaseOffline && s.Job == nil && s.Revisions[i.Revision].Spec.IsJob():\n		return events.RetireFailed\n", "",
		}},
	},
	{
		"view-of-a-slot-whose-turn-comes", "slots of a job that wait for their turn keep an outdated reason", []edit{{
			"projections/views/value.go", "!shown && s != nil && s.Job != nil {", "shown && s != nil && s.Job == nil {",
		}},
	},
	{
		"view-of-a-job-given-up", "slots of a job that is given up keep the reason for which they waited before", []edit{{
			"projections/views/value.go", "s != nil && s.GivenUp() {", "s != nil && s.Dropped {",
		}},
	},
	{
		"instance-forgotten-that-the-log-knows-further", "nodes keep their node epoch when the log is restored", []edit{{
			"coordinator/runner/decide.go", "turn.Rejoin(name, l.rejoins[name])", "turn.Rejoin(name, 0)",
		}},
	},
	{
		"generation-of-an-orphan-given-again", "a slot's next instance may have the generation of an orphan", []edit{{
			"projections/apply.go", "c.passOver(d.ID())", "",
		}},
	},
	{
		"misfits-without-successors", "the leader ignores successors on a node whose facts change", []edit{{
			"coordinator/placement/misfit.go", "{slot.Current, slot.Next}", "{slot.Current}",
		}},
	},
	{
		"paused-service-is-rebalanced", "a rebalancing moves instances of a service while its update is paused", []edit{{
			"coordinator/placement/move.go", "s.Operation != nil || ", "",
		}},
	},
	{
		"volumes-lost-in-healing", "a slot that is repaired in its earlier revision may leave the volumes of that revision", []edit{{
			"projections/service.go", "s.Revisions[s.Target(ordinal)].Spec.KeepsVolumes()", "s.Current().Spec.KeepsVolumes()",
		}},
	},
	{
		"volumes-of-one-of-before", "a slot gets volumes to which an earlier instance than the last may still write", []edit{{
			"projections/topology.go", " || s.Writes(ordinal, func(i *Instance) bool { return !i.Lost })", "",
		}},
	},
	{
		"resumed-again-before-a-slot-is-filled", "the checker takes a snapshot of before for that of a suspension that took none", []edit{{
			"cmd/simulation/checker/volumes.go", "s.snapshots[s.taken]", "s.snapshots[s.snapshot]",
		}},
	},
	{
		"damaged-while-appends-are-held", "the world damages the log while a cut link holds appends of a coordinator that has ended", []edit{{
			"cmd/simulation/world/fault_stream.go", "return p.client.link.cut }", "return false }",
		}},
	},
	{
		"ended-between-addresses-and-orders", "a leader that must end sends orders to stop before it has withdrawn the addresses", []edit{{
			"coordinator/runner/effects.go", "	return l.ctx.Err()\n}\n\n// sendOutcomes", "	return nil\n}\n\n// sendOutcomes",
		}},
	},
	{
		"not-healed-behind-one-that-waits", "the leader does not repair slots of an earlier revision behind one that waits for a node", []edit{{
			"coordinator/look.go", "(full.have(of) ||", "(len(full) > 0 ||",
		}},
	},
	{
		"adopted-and-still-a-stray", "an instance that the log adopts after a restore still counts as an orphan", []edit{{
			"projections/apply.go",
			"		delete(c.node(d.Node).Orphans, events.InstanceID{Service: id, Ordinal: d.Ordinal, Generation: d.Generation})\n", "",
		}},
	},
	{
		"view-of-a-slot-of-the-topology", "the view lacks empty slots that the topology has beyond the scale", []edit{
			{"projections/views/single.go", "		shown = max(shown, int(s.Span()))\n", "		shown = max(shown, int(s.Scale))\n"},
			{"projections/views/value.go", "	case !s.Has(ordinal) || s.Dropped:", "	case ordinal >= s.Scale || s.Dropped:"},
			{"projections/views/value.go", "			if d.Change == nil { // there", "			if d.ConfigVersion == 0 { // there"},
		},
	},
	{
		"late-order-of-a-lost-stream", "a late order of a lost stream overrules the orders of the stream that replaces it", []edit{
			{"node/runner/orders.go", "	case a.missed(o) || o.order.Stream != a.stream:\n", "	case a.missed(o):\n"},
			{"node/runner/orders.go", `		if a.stream == "" || o.order.Stream == a.stream {`, `		if a.stream == "" || o.order.Stream != "" {`},
		},
	},
	{
		"suspended-without-a-slot", "the suspension of a service without slots starts again and again", []edit{{
			"projections/operation.go", "d.Outcome == events.OperationDone && s.Suspension != nil", "len(op.Slots) > 0 && s.Suspension != nil",
		}},
	},
	{
		"forgotten-home-kept", "a slot waits for its volumes on a forgotten node", []edit{{
			"projections/drain.go", "			if home == n.Name {\n", "			if home == n.Name && !n.Forgotten {\n",
		}},
	},
	{
		"snapshot-of-a-host-made-anew", "an instance that held still for a snapshot still counts as holding after its host came back empty", []edit{{
			"projections/snapshot.go", "	return to.Attempt != from.Attempt ||\n", "	return to.Attempt != from.Attempt || to.Epoch == 0 &&\n",
		}},
	},
	{
		"address-brought-back", "a coordinator that another one has overtaken writes outdated endpoints as it begins to lead", []edit{{
			"projections/views/writer.go", "	if newest <= latest {\n", "	if w.done == 0 || newest <= latest {\n",
		}},
	},
	{
		"statuses-emptied-under-one-identity", "a leader reads on behind the end of a stream of statuses that the servers emptied under its identity", []edit{{
			"coordinator/runner/failover.go", "	if s.Last >= l.cursors.statuses {\n", "	if s.Last >= 0 {\n",
		}},
	},
	{
		"log-told-twice", "a standby reads the log again when its reader delivers a message twice, and ends if that lasts", []edit{{
			"coordinator/runner/follow.go", "	if m.Sequence <= f.fold.Last() {\n", "	if m.Sequence == 0 {\n",
		}},
	},
	{
		"successor-of-a-drained-and-lost-instance-serves", "the checker waits for the end of a lost instance whose successor serves", []edit{{
			"cmd/simulation/checker/commands.go", "(i.replaces == 0 || s.follows(i))", "i.replaces == 0",
		}},
	},
	{
		"first-heartbeat-after-the-window-of-an-exclusive-instance", "a node that starts sends its next heartbeat after the usual interval, though it has an exclusive instance", []edit{{
			"node/runner/agent.go", "now.Add(a.beatEvery()), now.Add(lookEvery)", "now.Add(a.Heartbeat), now.Add(lookEvery)",
		}},
	},
	{
		"volumes-of-one-whose-node-returns", "a slot gets its next instance while the node of a lost one with the same volumes returns", []edit{{
			"coordinator/liveness.go", " || s.Writes(ordinal, unlisted)", "",
		}},
	},
	{
		"next-one-that-is-tried-again", "the checker takes a cluster for settled whose paused operation has an instance that its node tries again", []edit{{
			"cmd/simulation/checker/converge.go", "slot.Next != nil && slot.Next.Seen.Phase != events.PhaseOnline && !leftAlone(s, slot.Next):", "false:",
		}},
	},
	{
		"exclusive-one-that-hears-late", "the simulation takes a cluster for settled before each node has had an answer to a heartbeat", []edit{{
			"cmd/simulation/world/heal.go", "append(w.unheard(began), w.checker.Unlike()...)", "w.checker.Unlike()",
		}},
	},
	{
		"adopted-with-its-volumes", "the checker holds an instance that is adopted after a restore to the node that had its volumes before", []edit{{
			"cmd/simulation/checker/slots.go", "s.settles(i) // the lost part", "c.stays(s, i) // the lost part",
		}},
	},
	{
		"log-restored-to-the-same-length", "an operator adopts a log that was restored while a leader has not noticed, and the log ends where that of the leader did", []edit{{
			"coordinator/runner/adopt.go", "release, err := HoldLease(ctx, b, name, ceasesWithin)", "release, err := func() {}, error(nil)",
		}},
	},
	{
		"queued-once-all-has-healed", "the simulation gives the cluster no time for commands that are queued only once all has healed", []edit{{
			"cmd/simulation/world/heal.go", "limit = max(limit, convergeWithin+time.Duration(w.checker.Backlog())*commandWithin)", "_ = limit",
		}},
	},
	{
		"order-of-a-leader-that-does-not-know-a-round", "the checker blames a new leader for an order that a round of the leader before contradicts, which was on its way", []edit{{
			"cmd/simulation/checker/orders.go", "if o.mark != c.log.epoch && c.log.closed > o.followed {", "if o.mark < c.log.epoch && c.log.closed > o.followed {",
		}},
	},
	{
		"outdated-node-leaves-what-is-retired", "the checker counts the time in which a node was too old to carry anything out", []edit{{
			"cmd/simulation/checker/calm.go", "		maps.DeleteFunc(c.calm.unlike, func(id events.InstanceID, _ time.Time) bool { return m.instances[id] != nil })\n", "		maps.DeleteFunc(c.calm.unlike, func(events.InstanceID, time.Time) bool { return false })\n",
		}},
	},
	{
		"outdated-coordinator-looks-again", "the simulation lets a coordinator that is too old for the cluster read the log once alone", []edit{{
			"cmd/simulation/world/listen.go", "isCoordinator(c.name) && c.program.Levels.Hold(c.world.checker.Level())", "isCoordinator(c.name)",
		}},
	},
	{
		"queued-behind-a-group-that-waits-for-an-operator", "the checker does not see that a queued command waits for a group whose canaries an operator must promote", []edit{{
			"cmd/simulation/checker/converge.go", "(of == sequence || g.holds(id)) && !g.ended", "of == sequence && !g.ended",
		}},
	},
	{
		"slot-that-waits-beside-one-without-a-node", "the checker takes a cluster for settled whose slots wait for their next try, because another slot has no node", []edit{{
			"cmd/simulation/checker/converge.go", "slot.Current == nil && at.After(c.Now())", "slot.Current == nil && at.After(c.Now()) && s.Pending == nil",
		}},
	},
	{
		"statuses-lost-as-all-heals", "the checker takes a cluster for settled whose leader has not noticed yet that the statuses were lost", []edit{{
			"cmd/simulation/checker/converge.go", "slices.Concat(c.streamsUnlike(), c.commandsUnlike(),", "slices.Concat(c.commandsUnlike(),",
		}},
	},
	{
		"stale-info-taken-for-a-restored-backup", "a coordinator ends by the first server that tells it of another stream, although that one lags behind", []edit{{
			"coordinator/runner/runner.go", "		case doubtful(err) && time.Since(doubtedSince) < confirmFor:\n",
			"		case doubtful(err) && time.Since(doubtedSince) < 0:\n",
		}},
	},
	{
		"failover-begun-again-with-each-time-out", "a coordinator that takes over begins again when one call times out", []edit{{
			"coordinator/runner/patience.go", "		if !passing(err) || ctx.Err() != nil ||", "		if !passing(err) || passing(err) || ctx.Err() != nil ||",
		}},
	},
	{
		"orders-of-a-server-that-lags", "a node takes the orders of a server that lags behind for all, and counts those that it lacks as read", []edit{{
			"events/bus/jetstream.go", "		if err != nil || last == 0 || (len(all) > 0 && all[len(all)-1].Sequence >= last) {\n",
			"		if err != nil || len(all) >= 0 {\n",
		}},
	},
	{
		"inputs-taken-twice", "a leader decides again the inputs that its reader delivers twice", []edit{{
			"coordinator/runner/lead.go", "	return m.Sequence <= cursor\n", "	return m.Sequence == 0\n",
		}},
	},
	{
		"missed-orders-counted-as-read", "a node counts missed orders as read although the reading failed", []edit{{
			"node/runner/orders.go", "	a.reading = reading{again: r.again, stale: r.stale, told: r.told}\n",
			"	a.reading = reading{again: r.again, stale: r.stale, told: r.told}\n	a.counter = max(a.counter, r.reaches)\n",
		}},
	},
	{
		"inputs-of-a-failed-round-lost", "a leader loses the inputs of a round in which a unit panics", []edit{
			{"coordinator/unit.go", "import (\n", "import (\n	\"github.com/rookery-project/rookery/cmd/simulation/strike\"\n"},
			{"coordinator/unit.go", "	if t.leavesAlone(u) {\n		return false\n	}\n", "	if t.leavesAlone(u) {\n		return false\n	}\n	strike.At(u)\n"},
			{"coordinator/runner/decide.go", "		l.putBack(in)\n		l.silent", "		l.silent"},
		},
	},
	{
		"standby-that-lags-and-does-not-say-so", "a standby takes its state for the newest although the lease names a later end of the log", []edit{{
			"coordinator/runner/lease.go", "	if err == nil && c.cluster.Sequence >= has.Sequence {\n", "	if err == nil {\n",
		}},
	},
	{
		"outdated-end-taken-for-a-new-stream", "a leader that is told an outdated end of the statuses reads all of them again", []edit{{
			"coordinator/runner/failover.go", "	return err == nil && m.Sequence < l.cursors.statuses, err\n", "	return err == nil && m.Sequence > 0, err\n",
		}},
	},
	{
		"copies-left-waiting-for-a-leader", "a stream in memory whose copies all wait for a leader stays without one", []edit{{
			"coordinator/runner/runner.go", "	defer beside(ctx, c.keepLed)()\n", "",
		}},
	},
}
