package node

import "time"

// Stats are what one container has used since it started, and what it uses now. A field is nil if the engine cannot tell it.
type Stats struct {
	// CPU is the processor time it has used.
	CPU *time.Duration
	// Memory is the memory it uses, in bytes.
	Memory *uint64
	// Received and Sent are the bytes that went over its own network.
	Received, Sent *uint64
}

// With returns the usage of the container together with a sidecar; a field is nil if that of either is nil. Both share one network,
// so its traffic counts once.
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
