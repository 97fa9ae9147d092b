package world

import (
	"strings"

	"github.com/rookery-project/rookery/cmd/simulation/checker"
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// printed returns the line that a container prints as it starts. It names the instance, but not the attempt, which the node counts: an
// attempt that the node took for failed may run after all, as the next one.
func printed(c node.Container) string {
	key := events.OutputKey(c.Instance, c.Attempt)
	return checker.OutputMark + " " + key[:strings.LastIndexByte(key, '.')]
}
