package world

import (
	"fmt"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// hangs is the command of a hook that never ends.
const hangs = "hang"

// beforeStops has people of some plans, in what they say anyhow, have instances be asked before they are stopped; some of these
// never answer.
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

// stopHook is what a call is about that asks the container to make ready for its end.
func stopHook(c node.Container) string { return "stop hook of " + c.Instance.String() }

// makesReady judges that a container is asked to make ready for its end: it is one that shall go.
func (j *judge) makesReady(h *host, c node.Container) {
	if !j.mayEndNow(h, c) {
		j.breach("before-stop", "%s asks %s to make ready for its end, and the log has it %s", h.name, c.Instance, j.cluster.instances[c.Instance])
	}
	j.ready[process{h.name, c.Handle}] = true
}

// stops judges the stop of a container that runs: where its spec has a hook for that, it was asked before. What is not healthy or
// takes too much of the disk is stopped without, so may be what is exclusive, and engines that do not answer ask nobody.
func (j *judge) stops(h *host, c node.Container) {
	i := j.cluster.instances[c.Instance]
	if i == nil || c.Role != node.RoleMain || !h.runsNow(c) || j.rewound || i.window > 0 || j.sick[c.Instance.String()] || j.sick[stopHook(c)] {
		return
	}
	s := j.cluster.services[c.Instance.Service]
	if s == nil || i.since.Before(s.born) {
		return // its service is gone, and its revisions with that
	}
	if asksBeforeStop(s.specs[i.revision]) && !j.ready[process{h.name, c.Handle}] {
		j.breach("before-stop", "%s stops %s, which was not asked to make ready for that", h.name, c.Instance)
	}
}

func asksBeforeStop(spec events.Spec) bool { return spec.Hooks != nil && spec.Hooks.BeforeStop != nil }
