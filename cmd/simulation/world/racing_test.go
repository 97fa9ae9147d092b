//go:build race

package world

// racing says that the race detector watches, with which all takes ten times as long.
const racing = true
