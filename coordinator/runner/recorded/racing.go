//go:build race

package recorded

// Racing says that the race detector watches, with which all takes ten times as long.
const Racing = true
