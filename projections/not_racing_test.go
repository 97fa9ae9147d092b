//go:build !race

package projections

// racing says that the race detector watches, with which all takes ten times as long.
const racing = false
