package events

// NodePause is the command to place no further instances on a node. Its instances keep running.
type NodePause struct{}

// NodeResume is the command that a paused or drained node takes instances again. Instances that have moved away do not come back.
type NodeResume struct{}

// NodePaused says that nothing is placed on the node from here on.
type NodePaused struct{}

// NodeResumed says that the node takes instances again.
type NodeResumed struct{}

// Kind implements Data.
func (NodePause) Kind() Kind { return v1("node", "pause") }

// Kind implements Data.
func (NodeResume) Kind() Kind { return v1("node", "resume") }

// Kind implements Data.
func (NodePaused) Kind() Kind { return v1("node", "paused") }

// Kind implements Data.
func (NodeResumed) Kind() Kind { return v1("node", "resumed") }

func (NodePause) check() error       { return nil }
func (NodeResume) check() error      { return nil }
func (c NodePause) normal() Command  { return c }
func (c NodeResume) normal() Command { return c }
