package events

// NodeListed says that a node has listed all that it has, after it was asked because the log may not know it all.
type NodeListed struct {
	Epoch uint64 `json:"epoch"`
}

// Kind implements Data.
func (NodeListed) Kind() Kind { return v1("node", "listed") }
