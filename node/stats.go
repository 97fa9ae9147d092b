package node

import "time"

// Stats are what one container has used since it started, and uses now. What the engine cannot tell is nil.
type Stats struct {
	// CPU is the processor time it has had.
	CPU *time.Duration
	// Memory is what it has of the memory, in bytes.
	Memory *uint64
	// Received and Sent are the bytes that went over its own network.
	Received, Sent *uint64
}

// Plus is what both have used together: nil where one of them is not known.
func (s Stats) Plus(o Stats) Stats {
	return Stats{CPU: sum(s.CPU, o.CPU), Memory: sum(s.Memory, o.Memory), Received: sum(s.Received, o.Received), Sent: sum(s.Sent, o.Sent)}
}

func sum[N time.Duration | uint64](a, b *N) *N {
	if a == nil || b == nil {
		return nil
	}
	both := *a + *b
	return &both
}
