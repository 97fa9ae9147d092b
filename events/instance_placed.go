package events

// PortBinding is a port of an instance and where it is published.
type PortBinding struct {
	Name string `json:"name"`
	// Port is the port inside the container, HostPort the one on the node's address.
	Port     uint16   `json:"port"`
	HostPort uint16   `json:"host_port"`
	Protocol Protocol `json:"protocol"`
}

// InstancePlaced says that a slot has a new instance, where it runs and at which addresses.
type InstancePlaced struct {
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	Revision   uint64 `json:"revision"`
	// Run is that of a job with a schedule; 0 for any other service.
	Run  uint64 `json:"run,omitzero"`
	Node string `json:"node"`
	// Address is the node's, where its ports are reached.
	Address string        `json:"address"`
	Ports   []PortBinding `json:"ports,omitempty"`
	// Reserved is what is set aside for it on the node.
	Reserved Resources `json:"reserved,omitzero"`
	// Replaces is the generation of the slot that runs on until this one serves; 0 where there is none.
	Replaces uint32 `json:"replaces,omitzero"`
	// Scratch is how much scratch disk it has, and a part of what is set aside.
	Scratch Size `json:"scratch,omitzero"`
	// SecurityContext is the policy's as it was placed; empty for restricted.
	SecurityContext SecurityContext `json:"security_context,omitempty"`
	// Window is how long the node lets the instance run after the last heartbeat that the coordinator answered: then it ends the instance.
	// 0 for an instance that is not exclusive, which has no such bound.
	Window Duration `json:"window,omitzero"`
	// Choice says why this node; missing where no choice was made, as on an adoption.
	Choice *Choice `json:"choice,omitzero"`
}

// Kind implements Data.
func (InstancePlaced) Kind() Kind { return v1("instance", "placed") }
