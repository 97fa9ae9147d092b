package screens

// fleet shows at a glance whether all is well: nodes, services, pending slots with their reasons, and free resources.
func fleet() *screen {
	b := board("rookery-fleet", "fleet", "Whether all is well: nodes, services, pending slots and why, and free resources.")
	for _, p := range []panel{
		figure(what{"Alerts firing", "Alert rules that fire now. Each says what to do. It is also 0 if Prometheus has not loaded the rules.", unitCount}, 4,
			colours(good, level{1, bad}),
			ask{orZero(`count(ALERTS{alertname=~"Rookery.+", alertstate="firing"})`, prometheusItself), "firing"}),
		figure(what{"Leaders", "Coordinators that lead. Exactly one must lead.", unitCount}, 4,
			colours(bad, level{1, good}, level{2, warns}),
			ask{orZero(sumBy(`rookery_coordinator_role{rookery_role="leader"}`), prometheusItself), "leaders"}).DataLinks(to("Open the coordinators", "rookery-coordinator")),
		figure(what{"Nodes ready", "Nodes that take instances.", unitCount}, 4, colours(bad, level{1, good}),
			ask{maxBy(`rookery_nodes{rookery_state="ready"}`), "ready"}).DataLinks(to("Open the nodes", "rookery-node")),
		figure(what{"Nodes in trouble", "Nodes that are silent or lost without a drain before, or whose engine does not answer.", unitCount}, 4,
			colours(good, level{1, bad}),
			ask{total(`rookery_nodes{rookery_state=~"silent|lost|degraded"}`, eachState), "in trouble"}).DataLinks(to("Open the nodes", "rookery-node")),
		figure(what{"Instances missing", "Slots that should serve and do not.", unitCount}, 4,
			colours(good, level{1, warns}),
			ask{orZero(sumBy(missing("")), aLeader), "missing"}).DataLinks(to("Open the services", "rookery-service")),
		figure(what{"Instances pending", "Slots without an instance: no node can run one, or the previous instance has to stop first.", unitCount},
			4,
			colours(good, level{1, warns}), ask{orZero(total(`rookery_service_pending`, eachService), aLeader), "pending"}).DataLinks(to("Open the services", "rookery-service")),
		stacked(what{"Nodes by state", "Number of nodes in each state.", unitCount}, 8,
			ask{maxBy(`rookery_nodes`, eachState...), "{{rookery_state}}"}),
		lines(what{"Instances", "Slots of all services: desired, online, and pending without an instance.", unitCount}, 8,
			ask{orZero(total(`rookery_service_desired`, eachService), aLeader), "desired"},
			ask{orZero(total(`rookery_service_online`, eachService), aLeader), "online"},
			ask{orZero(total(`rookery_service_pending`, eachService), aLeader), "pending"}),
		stacked(what{"Pending by reason", "The reason that rules out most nodes for the pending slots.", unitCount}, 8,
			ask{orNone(maxBy(`rookery_pending`, eachReason...), "rookery_reason", aLeader), "{{rookery_reason}}"}).
			DataLinks(to("Which services wait", "rookery-service")),
		servicesOfFleet().panel(12), nodesOfFleet().panel(12),
		room("", "CPU", unitCount, "cpu").AxisLabel("cores"), room("", "Memory", unitBytes, "memory_bytes"), room("", "Disk", unitBytes, "disk_bytes"),
		counted(what{"Commands by outcome", "Commands that have ended.", unitCount}, 8,
			ask{byLabels(inEachBar("rookery_commands_total"), aCoordinator, "rookery_outcome"), "{{rookery_outcome}}"}).
			DataLinks(to("Open the operations", "rookery-operations")),
		counted(what{"Placements, evictions and moves", "Instances placed, evicted from their node by reason, and moved by a rebalance.", unitCount},
			8,
			ask{orZero(sumBy(inEachBar("rookery_placements_total")), aCoordinator), "placed"},
			ask{byLabels(inEachBar("rookery_evictions_total"), aCoordinator, "rookery_reason"), "evicted: {{rookery_reason}}"},
			ask{orZero(sumBy(inEachBar("rookery_moves_total")), aCoordinator), "moved"}),
		bars(what{"Alerts", "Rules that fire now, and for how many things.", unitCount}, 8, colours(good, level{1, bad}),
			ask{orNone(`count by (alertname) (ALERTS{alertname=~"Rookery.+", alertstate="firing"})`, "alertname", prometheusItself), "{{alertname}}"}),
	} {
		b.WithPanel(p)
	}
	return b
}

// servicesOfFleet are all services, a row each.
func servicesOfFleet() rows {
	by := eachService
	return rows{
		what:   what{"Services", "Instances that serve, and how long a slot has waited for a node. Click a service to open it.", unitCount},
		labels: by, titles: []string{"Namespace", "Service"},
		columns: []column{
			{"Desired", unitCount, maxBy("rookery_service_desired", by...), nil},
			{"Online", unitCount, maxBy("rookery_service_online", by...), nil},
			{"Missing", unitCount, missing(""), colours(good, level{1, bad})},
			{"Pending", unitCount, maxBy("rookery_service_pending", by...), colours(good, level{1, warns})},
			{"Pending for", unitSeconds, maxBy("rookery_service_pending_duration_seconds", by...), colours(good, level{1, warns}, level{300, bad})},
		},
	}
}

// nodesOfFleet are all nodes, a row each.
func nodesOfFleet() rows {
	return rows{
		what:   what{"Nodes", "State of each node, its reserved share, and its last heartbeat. Click a node to open it.", unitShare},
		labels: eachNodeState, titles: []string{"Node", "State"},
		columns: []column{
			{"", "", maxBy("rookery_node_state", eachNodeState...), nil},
			{"CPU reserved", unitShare, reserved("", "cpu", "rookery_node"), full()},
			{"Memory reserved", unitShare, reserved("", "memory_bytes", "rookery_node"), full()},
			{"Disk reserved", unitShare, reserved("", "disk_bytes", "rookery_node"), full()},
			{"Online", unitCount, maxBy(`rookery_node_containers{rookery_phase="online"}`, eachNode...), nil},
			{"Heard", unitSeconds, maxBy("rookery_node_heartbeat_age_seconds", "rookery_node"), heardLately()},
		},
	}
}
