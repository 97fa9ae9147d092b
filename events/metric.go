package events

import "strconv"

// MetricProcess is what the process of an instance uses, as its node measured it: at the time of the message. A value that the node could
// not measure is null, and never zero. No decision depends on it.
type MetricProcess struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Node       string `json:"node"`
	ProcessUse
}

// ProcessUse is what a process uses, with its sidecars.
type ProcessUse struct {
	// CPUNanoCores is how many billionths of a core it took since the measuring before; null in the first.
	CPUNanoCores *uint64 `json:"cpu_nano_cores" jsonschema:"nullable"`
	// MemoryBytes is what it has of the memory.
	MemoryBytes *uint64 `json:"memory_bytes" jsonschema:"nullable"`
	// DiskBytes is what it has of the disk, which is measured where there is a limit to that.
	DiskBytes *uint64 `json:"disk_bytes" jsonschema:"nullable"`
	// NetworkReceivedBytes and NetworkSentBytes are what went over its own network since it started.
	NetworkReceivedBytes *uint64 `json:"network_received_bytes" jsonschema:"nullable"`
	NetworkSentBytes     *uint64 `json:"network_sent_bytes" jsonschema:"nullable"`
}

// Kind implements Data.
func (MetricProcess) Kind() Kind { return v1("metric", "process") }

// MetricSubject is where the node of a slot's instance publishes what that uses:
// rookery.metric.<ns>.<name>.<ordinal>.<node>.
func MetricSubject(id ServiceID, ordinal uint32, node string) string {
	return MetricRoot + "." + id.Namespace + "." + id.Name + "." + strconv.FormatUint(uint64(ordinal), 10) + "." + node
}

// MetricSubjects matches those of all slots of a service.
func MetricSubjects(id ServiceID) string {
	return MetricRoot + "." + id.Namespace + "." + id.Name + ".>"
}
