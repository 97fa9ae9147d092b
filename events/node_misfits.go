package events

// MaxMisfits bounds how many misfits one event names.
const MaxMisfits = 64

// NodeMisfits says, after a change of a node's facts, which of its instances would not be placed there now. They run on until an operator
// changes their services.
type NodeMisfits struct {
	// Total counts all misfits; Instances are the first of them by name.
	Total     uint32   `json:"total,omitzero"`
	Instances []Misfit `json:"instances,omitempty"`
	// Over is how much more is set aside on the node than it has.
	Over Resources `json:"over,omitzero"`
}

// Misfit is an instance that its node would not get any more.
type Misfit struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	// Filter is the rule that the node does not meet.
	Filter MisfitFilter `json:"filter"`
}

// MisfitFilter is a filter of placement that goes by what a node is.
type MisfitFilter string

// The filters that an instance can come to break by a change of its node.
const (
	MisfitNodeSelector MisfitFilter = "node-selector" // the node has not the labels that the spec wants
	MisfitZone         MisfitFilter = "zone"          // the node is in none of the spec's zones
)

// Kind implements Data.
func (NodeMisfits) Kind() Kind { return v1("node", "misfits") }
