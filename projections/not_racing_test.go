//go:build !race

package projections

// racing says whether the race detector is on, which makes all tests about ten times slower.
const racing = false
