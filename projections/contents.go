package projections

import "github.com/rookery-project/rookery/events"

// Contents returns the digests of all contents of volumes that are needed: those of a snapshot, of one in progress, or of one from which a
// slot is restored.
func (c *Cluster) Contents() map[string]bool {
	named := map[string]bool{}
	for _, s := range c.Services {
		for _, kept := range s.Snapshots.Kept {
			nameExports(named, kept.Volumes)
		}
		if s.Operation != nil {
			nameExports(named, s.Operation.Exports)
		}
		if s.Resumption != nil {
			nameRefills(named, s.Resumption.Slots)
		}
	}
	return named
}

// nameRefills names the contents with which volumes may have to be filled.
func nameRefills(named map[string]bool, slots map[uint32]*Refill) {
	for _, slot := range slots {
		for _, e := range slot.Volumes {
			named[e.Digest] = true
		}
	}
}

func nameExports(named map[string]bool, volumes map[uint32][]events.Export) {
	for _, exports := range volumes {
		for _, e := range exports {
			named[e.Digest] = true
		}
	}
}
