package main

import (
	"crypto/sha256"
	"encoding/binary"
)

// owner returns the ordinal of the slot that owns the key under a scale, which is 1 or more.
//
// It is the jump hash of Lamping and Veach, because that moves the fewest keys possible. Slots are added and removed at the upper end, so
// no key moves between two slots that stay. SHA-256 spreads similar keys evenly.
func owner(key string, scale uint32) uint32 {
	sum := sha256.Sum256([]byte(key))
	state := binary.BigEndian.Uint64(sum[:8])
	var slot int64
	for next := int64(0); next < int64(scale); {
		slot = next
		state = state*2862933555777941757 + 1
		next = int64(float64(slot+1) * (float64(1<<31) / float64(state>>33+1)))
	}
	return uint32(slot)
}

// owns reports whether the slot owns the key under a scale. Under scale 0 none does.
func owns(ordinal uint32, key string, scale uint32) bool {
	return scale > 0 && owner(key, scale) == ordinal
}
