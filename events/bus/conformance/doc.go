// Package conformance holds every bus.Bus to the same behavior, so that what was tested on one holds on the other.
//
// It knows what a bus promises and nothing of how it keeps it. A bus calls it in a few lines:
//
//	func TestConformance(t *testing.T) {
//		conformance.Test(t, func(t *testing.T) bus.Bus { return memory.New(time.Now) })
//	}
package conformance
