package screens

// ofService are the series of the services that are chosen.
const ofService = `{rookery_namespace=~"$namespace", rookery_service=~"$service"}`

// slot names an instance's place in all services.
var slot = []string{"rookery_namespace", "rookery_service", "rookery_ordinal", "rookery_node"}

// bySlot is the legend of what is told of slots.
const bySlot = "{{rookery_namespace}}/{{rookery_service}}/{{rookery_ordinal}} on {{rookery_node}}"

// byService is the legend of what is told of services.
const byService = "{{rookery_namespace}}/{{rookery_service}}"

// service shows the state of services, and what each of their processes uses.
func service() *screen {
	b := board("rookery-service", "service", "State of the services, and the resources that each process uses.").
		WithVariable(choice("rookery_namespace", "Namespace", "rookery_service_desired")).
		WithVariable(choice("rookery_service", "Service", `rookery_service_desired{rookery_namespace=~"$namespace"}`))
	for _, p := range []panel{
		figure(what{"Desired", "Slots that should have an instance.", unitCount}, 4, colours(plain),
			ask{orZero(total("rookery_service_desired"+ofService, eachService), aLeader), "desired"}),
		figure(what{"Online", "Slots that serve, in any revision. For a job: slots that work or are about to.", unitCount}, 4, colours(plain),
			ask{orZero(total("rookery_service_online"+ofService, eachService), aLeader), "online"}),
		figure(what{"Missing", "Slots that should serve and do not.", unitCount}, 4, colours(good, level{1, bad}),
			ask{orZero(sumBy(missing(ofService)), aLeader), "missing"}),
		figure(what{"Pending", "Slots without an instance.", unitCount}, 4, colours(good, level{1, warns}),
			ask{orZero(total("rookery_service_pending"+ofService, eachService), aLeader), "pending"}),
		figure(what{"Pending for", "How long a slot has waited for a node. `rookery explain` says why.", unitSeconds}, 4,
			colours(good, level{1, warns}, level{300, bad}), ask{orZero(maxBy("rookery_service_pending_duration_seconds"+ofService), aLeader), "pending for"}),
		figure(what{"Operations under way", "Changes of these services that have not ended.", unitCount}, 4, colours(plain),
			ask{orZero("count("+maxBy("rookery_operation_phase_duration_seconds"+ofService, phases...)+")", aLeader), "under way"}).
			DataLinks(to("Open the operations", "rookery-operations")),
		lines(what{"Instances", "Slots of the chosen services: desired, online, and pending without an instance.", unitCount},
			8,
			ask{orZero(total("rookery_service_desired"+ofService, eachService), aLeader), "desired"}, ask{orZero(total("rookery_service_online"+ofService, eachService), aLeader), "online"},
			ask{orZero(total("rookery_service_pending"+ofService, eachService), aLeader), "pending"}),
		lines(what{"Online by service", "Slots that serve, in any revision. For a job: slots that work or are about to.", unitCount}, 8,
			ask{maxBy("rookery_service_online"+ofService, eachService...), byService}).
			DataLinks(to("What is done to it", "rookery-operations", eachService...)),
		lines(what{"Missing by service", "Slots that should serve and do not.", unitCount}, 8,
			ask{missing(ofService), byService}).
			DataLinks(to("What is done to it", "rookery-operations", eachService...)),
		lines(what{"CPU", "Cores that each process uses.", unitCount}, 12,
			ask{maxBy("rookery_process_cpu_usage"+ofService, slot...), bySlot}).
			AxisLabel("cores").DataLinks(to("Open the node", "rookery-node", "rookery_node")),
		lines(what{"Memory", "Memory that each process uses.", unitBytes}, 12,
			ask{maxBy("rookery_process_memory_usage_bytes"+ofService, slot...), bySlot}).
			DataLinks(to("Open the node", "rookery-node", "rookery_node")),
		lines(what{"Disk", "Disk that each process uses. Only processes with a disk limit are measured.", unitBytes}, 12,
			ask{maxBy("rookery_process_disk_usage_bytes"+ofService, slot...), bySlot}).
			NoValue("No instance has a limit of its disk, so none is measured").DataLinks(to("Open the node", "rookery-node", "rookery_node")),
		lines(what{"Network received", "Bytes per second to each process. Processes on the network of their host are not measured.", unitByteSec},
			12,
			ask{maxBy(perSecond(network("receive")), slot...), bySlot}).NoValue("No instance has a network of its own"),
		lines(what{"Network sent", "Bytes per second from each process. Processes on the network of their host are not measured.", unitByteSec},
			12,
			ask{maxBy(perSecond(network("transmit")), slot...), bySlot}).NoValue("No instance has a network of its own"),
		lines(what{"Scheduling time", "Time from a command to its instances, of all services: until placed, and until online. The slowest of 20.", unitSeconds},
			12,
			ask{quantile(0.95, grown("rookery_scheduling_duration_seconds_bucket", inStep), "rookery_reached"), "{{rookery_reached}}"}).
			NoValue("No command has placed an instance in this time"),
		bars(what{"Scheduling time, whole range", "Time from a command to its instances, of all services: median, and the slowest of 20.", unitSeconds},
			12,
			colours(plain),
			overall("rookery_scheduling_duration_seconds_bucket", "rookery_reached")...).
			NoValue("No command has placed an instance in this time"),
	} {
		b.WithPanel(p)
	}
	return b
}

// network are the bytes of the chosen services' processes that go one way.
func network(direction string) string {
	return `rookery_process_network_io_bytes_total{rookery_namespace=~"$namespace", rookery_service=~"$service", network_io_direction="` + direction + `"}`
}

// missing is how many slots of each service should serve and do not.
func missing(which string) string {
	return "clamp_min(" + maxBy("rookery_service_desired"+which, eachService...) + " - " + maxBy("rookery_service_online"+which, eachService...) + ", 0)"
}
