//go:build !race

package world

// racing says that the race detector is on, which makes the tests ten times as slow.
const racing = false
