package world

import (
	"strings"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// printed is the line that a container prints as it starts: it says whose it is. The attempt is the node's to count: one
// that it held to have failed may run after all, as the next.
func printed(c node.Container) string {
	key := events.OutputKey(c.Instance, c.Attempt)
	return checker.OutputMark + " " + key[:strings.LastIndexByte(key, '.')]
}
