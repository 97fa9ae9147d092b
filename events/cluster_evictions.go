package events

// EvictionsPaused says that too many nodes are silent at once: nothing is lost until fewer are. That the network has
// parted is likelier than that all of them are gone.
type EvictionsPaused struct {
	// Silent are the nodes that are silent and not lost, of Nodes that are not lost.
	Silent uint32 `json:"silent"`
	Nodes  uint32 `json:"nodes"`
}

// Kind implements Data.
func (EvictionsPaused) Kind() Kind { return v1("cluster", "evictions-paused") }

// EvictionsResumed says that few enough nodes are silent again. The time until a silent node is lost begins again here.
type EvictionsResumed struct {
	Silent uint32 `json:"silent"`
	Nodes  uint32 `json:"nodes"`
}

// Kind implements Data.
func (EvictionsResumed) Kind() Kind { return v1("cluster", "evictions-resumed") }
