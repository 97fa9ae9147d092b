package events

// MaxListed is how many instances one list may hold. A node with more publishes several lists.
const MaxListed = 200

// InstanceList is what a node has of ours, published when it connects or is asked. Long ones come in several messages.
// It says nothing of what it does not hold.
type InstanceList struct {
	Counter   uint64          `json:"counter"`
	Epoch     uint64          `json:"epoch"`
	Instances []InstanceState `json:"instances"`
	// Last says that the node has now listed all.
	Last bool `json:"last"`
}

// Kind implements Data.
func (InstanceList) Kind() Kind { return v1("status", "list") }
