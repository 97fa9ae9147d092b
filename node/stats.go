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

// With is what the container has used together with a sidecar: nil where one of them is not known. They have one network, so what
// is said of it counts once.
func (s Stats) With(sidecar Stats) Stats {
	return Stats{CPU: sum(s.CPU, sidecar.CPU), Memory: sum(s.Memory, sidecar.Memory), Received: s.Received, Sent: s.Sent}
}

func sum[N time.Duration | uint64](a, b *N) *N {
	if a == nil || b == nil {
		return nil
	}
	both := *a + *b
	return &both
}
