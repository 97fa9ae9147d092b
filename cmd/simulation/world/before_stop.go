package world

import (
	"fmt"
	"strings"

	"github.com/rookery-project/rookery/node"
)

// hangs is the command of a hook that never ends.
const hangs = "hang"

// beforeStops adds before_stop hooks to the ensure commands of some plans. The node then calls the hook before it stops an instance. Some
// hooks never answer.
func (d *drawer) beforeStops() {
	const share, often, silent = 3, 3, 5
	if d.IntN(share) > 0 {
		return
	}
	for i := range d.plan.Actions {
		a := &d.plan.Actions[i]
		if a.Kind != Command || !strings.HasSuffix(a.Subject, ".ensure") || d.IntN(often) > 0 {
			continue
		}
		command := "make-ready"
		if d.IntN(silent) == 0 {
			command = hangs
		}
		hook := fmt.Sprintf(`"before_stop":{"exec":[%q]}`, command)
		if strings.Contains(a.Body, `"hooks":{`) {
			a.Body = strings.Replace(a.Body, `"hooks":{`, `"hooks":{`+hook+`,`, 1)
			continue
		}
		a.Body = strings.Replace(a.Body, `"image":`, fmt.Sprintf(`"stop_grace":"%ds","hooks":{%s},"image":`, 1+d.IntN(20), hook), 1)
	}
}

// stopHook is the key of the call that runs the before_stop hook of the container.
func stopHook(c node.Container) string { return "stop hook of " + c.Instance.String() }
