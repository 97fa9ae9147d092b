package events

// EngineStatus is what a node says of the engine that runs its containers, published when it changed. A process that has just
// joined has an engine that answers, until it says otherwise.
type EngineStatus struct {
	// Counter climbs with each status of one node epoch.
	Counter uint64 `json:"counter"`
	Epoch   uint64 `json:"epoch"`
	// Degraded is a text that says why the engine cannot be relied on; "" where it can.
	Degraded string `json:"degraded,omitempty"`
}

// Kind implements Data.
func (EngineStatus) Kind() Kind { return v1("status", "engine") }

func (s EngineStatus) check() error {
	if len(s.Degraded) > MaxMessage {
		return Reject(CodeOutOfRange, "degraded", "degraded has %d bytes, more than %d", len(s.Degraded), MaxMessage)
	}
	return nil
}
