package events

import "slices"

// PortRange is the range of ports that a node offers for instances, both ends included.
type PortRange struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// Holds reports whether the port is in the range.
func (r PortRange) Holds(port uint16) bool { return port >= r.First && port <= r.Last }

// Capacity is what a node has to give.
type Capacity struct {
	// CPU is in cores.
	CPU float64 `json:"cpu"`
	// Memory and Disk are in bytes.
	Memory uint64 `json:"memory"`
	Disk   uint64 `json:"disk"`
}

// NodeFacts are the facts that a node reports of itself.
type NodeFacts struct {
	// Address is where the ports of its instances are reached.
	Address  string            `json:"address"`
	Zone     string            `json:"zone,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Capacity Capacity          `json:"capacity"`
	// Reserve is what of its capacity is for others than instances.
	Reserve Resources `json:"reserve,omitzero"`
	// Default is set aside on this node for an instance whose spec says nothing of it, before the policy's.
	Default Resources `json:"default,omitzero"`
	Ports   PortRange `json:"ports"`
	// Allows is what services may have of the host beyond that, and beyond the restricted security context.
	Allows NodeAllows `json:"allows,omitzero"`
	EngineFacts
}

// NodeAllows is what a node allows that placement goes by.
type NodeAllows struct {
	// HostPorts are the ports that a spec may name as its host_port, beside those of the node's own range.
	HostPorts []PortRange `json:"host_ports,omitempty"`
	// EngineContext says that containers may run in the security context engine.
	EngineContext bool `json:"engine_context,omitzero"`
}

// maxPortRanges is how many ranges of ports a node may allow.
const maxPortRanges = 64

func (a NodeAllows) check() error {
	if len(a.HostPorts) > maxPortRanges {
		return Reject(CodeOutOfRange, "allows.host_ports", "allows.host_ports has %d ranges, more than %d", len(a.HostPorts), maxPortRanges)
	}
	for _, r := range a.HostPorts {
		if r.First == 0 || r.First > r.Last {
			return Reject(CodeOutOfRange, "allows.host_ports", "ports %d to %d are not a range: want 1 to 65535, the lower one first", r.First, r.Last)
		}
	}
	return nil
}

// OffersPort reports whether a spec may name the port as its host_port on the node.
func (f NodeFacts) OffersPort(port uint16) bool {
	return f.Ports.Holds(port) || slices.ContainsFunc(f.Allows.HostPorts, func(r PortRange) bool { return r.Holds(port) })
}

// Allocatable is what instances may have of the node. A capacity of 0 is one that the node could not tell: it bounds
// nothing.
func (f NodeFacts) Allocatable() Resources {
	return Resources{
		CPU:    CPU(max(f.Capacity.CPU*float64(Core)-float64(f.Reserve.CPU), 0)),
		Memory: Size(f.Capacity.Memory) - min(Size(f.Capacity.Memory), f.Reserve.Memory),
		Disk:   Size(f.Capacity.Disk) - min(Size(f.Capacity.Disk), f.Reserve.Disk),
	}
}

// NodeJoined says that a node's process is now the one of that name, under a new node epoch.
type NodeJoined struct {
	// Epoch counts the processes that were the node, from 1, or from above the epochs of nodes that were forgotten.
	Epoch uint64 `json:"epoch"`
	// Incarnation is the name that the process drew for itself.
	Incarnation string `json:"incarnation"`
	NodeFacts
	// Program is the Rookery that the process runs. It is in clusters from LevelPrograms on.
	Program Program `json:"program,omitzero"`
}

// Kind implements Data.
func (NodeJoined) Kind() Kind { return v1("node", "joined") }
