package world

import (
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// outputMark is in every line that a container prints, and in nothing else.
const outputMark = "the-output-of"

// printed is the line that a container prints as it starts: it says whose it is. The attempt is the node's to count: one
// that it held to have failed may run after all, as the next.
func printed(c node.Container) string {
	key := events.OutputKey(c.Instance, c.Attempt)
	return outputMark + " " + key[:strings.LastIndexByte(key, '.')]
}

// keeps judges what is kept of a container's output: under a key of its own instance alone.
func (j *judge) keeps(key string, value []byte) {
	line := outputMark + " " + key[:strings.LastIndexByte(key, '.')] + "\n"
	if strings.ReplaceAll(string(value), line, "") != "" || len(value) == 0 {
		j.breach("output", "under %s stands %q, and its container prints %q", key, value, line)
	}
	j.outputs[key] = true
}

// refers judges an instance that is offline: its event names lines that were kept, and does so where a container has
// failed and nothing was in the way.
func (j *judge) refers(id events.InstanceID, s events.InstanceSeen) {
	switch {
	case s.Output != "" && !j.outputs[s.Output] && !j.rereading:
		j.breach("output", "%s is offline, and refers to %s, which was never kept", id, s.Output)
	case s.Output != "" && s.Output != events.OutputKey(id, s.Attempt):
		j.breach("output", "%s is offline in attempt %d, and refers to %s", id, s.Attempt, s.Output)
	case s.Output == "" && s.Reason == events.OfflineExited && j.calm() > mendsWithin:
		j.breach("output", "%s has exited while nothing was broken, and what it printed was not kept", id)
	}
}
