package screens

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// ofNode are the series of the nodes that are chosen.
const ofNode = `{rookery_node=~"$node"}`

// byNode is the legend of what is told of nodes.
const byNode = "{{rookery_node}}"

// node shows the state of the nodes, what they do, and how much of them is in use.
func node() *screen {
	b := board("rookery-node", "node", "State, work and use of the nodes.").
		WithVariable(choice("rookery_node", "Node", "rookery_node_state"))
	for _, p := range []panel{
		figure(what{"Last heard", "Age of the last answered heartbeat, of the node where it is oldest.", unitSeconds},
			4,
			heardLately(), ask{"max(rookery_node_heartbeat_age_seconds" + ofNode + ")", "last heard"}),
		figure(what{"Instances online", "Instances that serve.", unitCount}, 4, colours(plain),
			ask{total(inPhase("online"), eachNode), "online"}),
		figure(what{"Instances offline", "Instances that exist and do not serve.", unitCount}, 4, colours(good, level{1, bad}),
			ask{total(inPhase("offline"), eachNode), "offline"}),
		figure(what{"Restarts", "Restarts of instances in the time shown.", unitCount}, 4,
			colours(good, level{1, warns}),
			ask{orZero(sumBy(grown("rookery_node_restarts_total"+ofNode, inRange)), aNode), "restarts"}).Decimals(0),
		figure(what{"CPU reserved", "Reserved share of the CPU that instances may use.", unitShare}, 4, full(),
			ask{reserved(ofNode, "cpu"), "cpu"}),
		figure(what{"Memory reserved", "Reserved share of the memory that instances may use.", unitShare}, 4, full(),
			ask{reserved(ofNode, "memory_bytes"), "memory"}),
		stacked(what{"Instances by phase", "Instances of the nodes in each phase.", unitCount}, 12,
			ask{total("rookery_node_containers"+ofNode, eachPhase, "rookery_phase"), "{{rookery_phase}}"}),
		counted(what{"Restarts by reason", "Restarts of instances, by the reason why they were offline.", unitCount},
			12,
			ask{byLabels(inEachBar("rookery_node_restarts_total"+ofNode), aNode, "rookery_reason", "rookery_node"), "{{rookery_reason}} {{rookery_node}}"}),
		nodesChosen().panel(24),
		room(ofNode, "CPU", unitCount, "cpu").AxisLabel("cores"), room(ofNode, "Memory", unitBytes, "memory_bytes"), room(ofNode, "Disk", unitBytes, "disk_bytes"),
		lines(what{"CPU by service", "Cores that the instances of each service use on these nodes.", unitCount}, 12,
			ask{total("rookery_process_cpu_usage"+ofNode, slot, eachService...), byService}).AxisLabel("cores").
			NoValue("Nothing was measured yet").DataLinks(to("Open the service", "rookery-service", "rookery_namespace", "rookery_service")),
		lines(what{"Memory by service", "Memory that the instances of each service use on these nodes.", unitBytes}, 12,
			ask{total("rookery_process_memory_usage_bytes"+ofNode, slot, eachService...), byService}).
			NoValue("Nothing was measured yet").DataLinks(to("Open the service", "rookery-service", "rookery_namespace", "rookery_service")),
		lines(what{"Age of heartbeats", "Age of the last answered heartbeat.", unitSeconds}, 12,
			ask{maxBy("rookery_node_heartbeat_age_seconds"+ofNode, "rookery_node"), byNode}),
		lines(what{"Heartbeats", "How long the leader takes to answer heartbeats, the slowest of 20.", unitSeconds}, 12,
			ask{quantile(0.95, perSecond("rookery_node_heartbeat_duration_seconds_bucket"+ofNode), "rookery_node"), byNode}),
		stacked(what{"Calls of the engine", "Calls a second of all nodes, by kind.", unitPerSec}, 8,
			ask{sumBy(perSecond("rookery_engine_call_duration_seconds_count"), "rookery_engine_call"), "{{rookery_engine_call}}"}),
		counted(what{"Calls of the engine that failed", "Calls of all nodes that failed, by kind and error.", unitCount}, 8,
			ask{
				byLabels(inEachBar(`rookery_engine_call_duration_seconds_count{error_type!=""}`), aNode, "error_type", "rookery_engine_call"),
				"{{error_type}} {{rookery_engine_call}}",
			}),
		lines(what{"Time of the engine's calls", "How long calls take on all nodes, the slowest of 20, by kind.", unitSeconds}, 8,
			ask{quantile(0.95, perSecond("rookery_engine_call_duration_seconds_bucket"), "rookery_engine_call"), "{{rookery_engine_call}}"}),
		counted(what{"Image pulls", "Images that were pulled, and errors.", unitCount}, 12,
			ask{orZero(sumBy(inEachBar(`rookery_image_pull_duration_seconds_count{error_type=""}`)), aNode), "pulled"},
			ask{byLabels(inEachBar(`rookery_image_pull_duration_seconds_count{error_type!=""}`), aNode, "error_type"), "failed: {{error_type}}"}),
		bars(what{"Time of image pulls, whole range", "How long it takes to pull an image: median, and the slowest of 20.", unitSeconds},
			12,
			colours(plain),
			overall("rookery_image_pull_duration_seconds_bucket", "rookery_node")...).
			NoValue("No image was pulled in this time"),
		lines(what{"Memory of the nodes' processes", "Memory that the Go runtime of each node uses.", unitBytes}, 12,
			ask{sumBy(of("go_memory_used_bytes", "rookery_node_capacity_cpu"+ofNode), "instance"), "{{instance}}"}),
		lines(what{"Goroutines of the nodes' processes", "Goroutines of each node. A constant rise is a defect of Rookery.", unitCount}, 12,
			ask{maxBy(of("go_goroutine_count", "rookery_node_capacity_cpu"+ofNode), "instance"), "{{instance}}"}),
	} {
		b.WithPanel(p)
	}
	return b
}

// inPhase are the instances of the chosen nodes that are so far.
func inPhase(phase string) string {
	return `rookery_node_containers{rookery_node=~"$node", rookery_phase="` + phase + `"}`
}

// nodesChosen are the chosen nodes, a row each.
func nodesChosen() rows {
	return rows{
		what:   what{"Each node", "State of each node, its reserved and used shares, and its last heartbeat.", unitShare},
		labels: eachNodeState, titles: []string{"Node", "State"},
		columns: []column{
			{"", "", maxBy("rookery_node_state"+ofNode, eachNodeState...), nil},
			{"CPU reserved", unitShare, reserved(ofNode, "cpu", "rookery_node"), full()},
			{"CPU used", unitShare, used(ofNode, "cpu"), full()},
			{"Memory reserved", unitShare, reserved(ofNode, "memory_bytes", "rookery_node"), full()},
			{"Memory used", unitShare, used(ofNode, "memory_bytes"), full()},
			{"Disk reserved", unitShare, reserved(ofNode, "disk_bytes", "rookery_node"), full()},
			{"Online", unitCount, maxBy(inPhase("online"), eachNode...), nil},
			{"Offline", unitCount, maxBy(inPhase("offline"), eachNode...), colours(good, level{1, bad})},
			{"Heard", unitSeconds, maxBy("rookery_node_heartbeat_age_seconds"+ofNode, "rookery_node"), heardLately()},
		},
	}
}

// heardLately gives the time since a heartbeat its colours. A node sends one every five seconds.
func heardLately() *dashboard.ThresholdsConfigBuilder {
	return colours(good, level{15, warns}, level{60, bad})
}
