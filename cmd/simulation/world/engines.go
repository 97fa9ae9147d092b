package world

import (
	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// prepared judges a container that was made.
func (j *judge) prepared(h *host, p node.Plan, k *call) {
	i := j.cluster.instances[p.Instance]
	switch {
	case j.rewound:
	case i == nil:
		j.breach("orders", "%s makes a container for %s, which the log does not have", h.name, p.Instance)
	case i.node != h.name:
		j.breach("P5", "%s makes a container for %s, which is on %s", h.name, p.Instance, i.node)
	case i.removed && k.since.After(i.gone) && !k.client.ended.Load():
		j.breach("orders", "%s makes a container for %s, which it has said is removed: it obeys an order of before", h.name, p.Instance)
	}
}

// ends judges the end of a container by the node's hand.
func (j *judge) ends(h *host, c node.Container) {
	running := false
	for _, have := range h.engine.Containers() {
		running = running || (have.Handle == c.Handle && have.State == node.Running)
	}
	i := j.cluster.instances[c.Instance]
	if !running || j.rewound || j.sick[c.Instance.String()] || j.cluster.machine(h.name).strays[c.Instance] || (i != nil && (i.retired || i.removed)) {
		return
	}
	j.breach("P9", "%s ends the running container of %s, and the log has it %s: nobody said so", h.name, c.Instance, i)
}

// unwell notes a check that does not come back well, for whatever reason: the node may end the container for it.
func (j *judge) unwell(k *call) {
	if k.point == Check {
		j.sick[k.key] = true
	}
}

// image returns the image of a service's revision.
func (j *judge) image(id events.ServiceID, revision uint64) string {
	if s := j.cluster.services[id]; s != nil {
		return s.specs[revision].Image
	}
	return ""
}
