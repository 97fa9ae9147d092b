package events

// Resources are amounts of what a node has to give. Zero says nothing of it.
type Resources struct {
	CPU    CPU  `json:"cpu,omitzero"`
	Memory Size `json:"memory,omitzero"`
	// Disk is what containers write to their own files, those of sidecars included. A node measures that every few
	// seconds, and ends an instance that has written more than its limit.
	Disk Size `json:"disk,omitzero"`
}

// Plus returns the sum of both.
func (r Resources) Plus(o Resources) Resources {
	return Resources{CPU: r.CPU + o.CPU, Memory: r.Memory + o.Memory, Disk: r.Disk + o.Disk}
}

// Minus returns what is left of r, which holds o.
func (r Resources) Minus(o Resources) Resources {
	return Resources{CPU: r.CPU - o.CPU, Memory: r.Memory - o.Memory, Disk: r.Disk - o.Disk}
}

// Times returns n times r.
func (r Resources) Times(n uint64) Resources {
	return Resources{CPU: r.CPU * CPU(n), Memory: r.Memory * Size(n), Disk: r.Disk * Size(n)}
}

// or returns r, with the amounts of o where r says nothing.
func (r Resources) or(o Resources) Resources {
	if r.CPU == 0 {
		r.CPU = o.CPU
	}
	if r.Memory == 0 {
		r.Memory = o.Memory
	}
	if r.Disk == 0 {
		r.Disk = o.Disk
	}
	return r
}

// MinMemory is the least memory limit that a container can run with.
const MinMemory = 4 << 20

func checkResources(limits, requests Resources) error {
	if limits.Memory > 0 && limits.Memory < MinMemory {
		return Reject(CodeOutOfRange, "resources.memory", "resources.memory %s is less than %s: no container runs with that",
			limits.Memory, Size(MinMemory))
	}
	for _, r := range []struct {
		field        string
		asked, limit uint64
		asks, limits string
	}{
		{"requests.cpu", uint64(requests.CPU), uint64(limits.CPU), requests.CPU.String(), limits.CPU.String()},
		{"requests.memory", uint64(requests.Memory), uint64(limits.Memory), requests.Memory.String(), limits.Memory.String()},
		{"requests.disk", uint64(requests.Disk), uint64(limits.Disk), requests.Disk.String(), limits.Disk.String()},
	} {
		if r.limit > 0 && r.asked > r.limit {
			return Reject(CodeOutOfRange, r.field, "%s %s is more than the limit, %s: an instance never gets more than that",
				r.field, r.asks, r.limits)
		}
	}
	return nil
}

// Reserves returns what placement sets aside for one instance on a node: what the spec requests, else its limits, else the
// node's default, else the policy's. Scratch disk comes on top of the disk for the instance's own files.
func (s Spec) Reserves(node Resources, policy *Policy) Resources {
	r := s.Requests.or(s.Resources).or(node).or(policy.Default)
	r.Disk += s.ScratchSize(policy)
	return r
}
