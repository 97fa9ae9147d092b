package events

// StrayFound says that a node has an orphan: an instance of ours that the log does not have there. The node gets the order to stop it.
type StrayFound struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	Ordinal    uint32 `json:"ordinal"`
	Generation uint32 `json:"generation"`
	// Why says in what the node's word contradicts the log.
	Why StrayReason `json:"why,omitempty"`
}

// StrayReason is why an instance on a node is an orphan.
type StrayReason string

// The reasons of an orphan.
const (
	StrayUnknownService  StrayReason = "unknown-service"  // the log has no such service
	StrayUnknownSlot     StrayReason = "unknown-slot"     // the service has no slot of that ordinal
	StrayOtherNode       StrayReason = "other-node"       // the log has that instance on another node
	StrayNewerGeneration StrayReason = "newer-generation" // the log has never placed that generation of the slot
	StrayOlderGeneration StrayReason = "older-generation" // the log knows that generation to be gone
)

// Words says the reason in a sentence.
func (r StrayReason) Words() string {
	switch r {
	case StrayUnknownService:
		return "there is no such service"
	case StrayUnknownSlot:
		return "its service has no such slot"
	case StrayOtherNode:
		return "the log has it on another node"
	case StrayNewerGeneration:
		return "the log has never placed this generation"
	case StrayOlderGeneration:
		return "the log knows this generation to be gone"
	}
	return string(r)
}

// Kind implements Data.
func (StrayFound) Kind() Kind { return v1("stray", "found") }

// ID returns the instance that the orphan says it is.
func (s StrayFound) ID() InstanceID {
	return InstanceID{Service: ServiceID{Namespace: s.Namespace, Name: s.Name}, Ordinal: s.Ordinal, Generation: s.Generation}
}
