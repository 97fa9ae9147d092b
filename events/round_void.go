package events

// RoundVoid says that the messages From..To, right before it, count for nothing: they are the torn beginning of a round that was never
// closed, or another client put them into the log. It stands at rookery.log.cluster.round.void; earlier logs have it at rookery.log.round.
type RoundVoid struct {
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Epoch  uint64 `json:"epoch"`
	Leader string `json:"leader"`
}

// Kind implements Data.
func (RoundVoid) Kind() Kind { return v1("round", "void") }
