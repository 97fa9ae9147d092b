package events

// RoundVoid says that the messages From..To are the torn beginning of a round that was never closed. They count for nothing.
type RoundVoid struct {
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Epoch  uint64 `json:"epoch"`
	Leader string `json:"leader"`
}

// Kind implements Data.
func (RoundVoid) Kind() Kind { return v1("round", "void") }
