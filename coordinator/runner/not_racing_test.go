//go:build !race

package runner

// racing says that the race detector watches, with which all takes ten times as long.
const racing = false
