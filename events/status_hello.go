package events

// Hello is how a node's process that starts introduces itself. It is repeated until a heartbeat's answer gives the
// process its node epoch.
type Hello struct {
	// Incarnation is a name that the process drew for itself, never used before.
	Incarnation string `json:"incarnation"`
	NodeFacts
}

// Kind implements Data.
func (Hello) Kind() Kind { return v1("status", "hello") }
