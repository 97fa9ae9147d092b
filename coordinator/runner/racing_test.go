//go:build race

package runner

// Racing says that the race detector watches, with which all takes ten times as long.
const Racing = true
