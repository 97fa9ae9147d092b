package world

import (
	"slices"

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
	case i.removed && !i.forgotten && k.since.After(i.gone) && !k.client.ended.Load():
		j.breach("orders", "%s makes a container for %s, which it has said is removed: it obeys an order of before", h.name, p.Instance)
	}
}

// ends judges the end of a container by the node's hand.
func (j *judge) ends(h *host, c node.Container) {
	if h.runsNow(c) && !j.sick[c.Instance.String()] && !j.mayEndNow(h, c) {
		j.breach("P9", "%s ends the running container of %s, and the log has it %s: nobody said so", h.name, c.Instance, j.cluster.instances[c.Instance])
	}
}

// mayEndNow reports whether the container is one that shall go, or may be.
func (j *judge) mayEndNow(h *host, c node.Container) bool {
	i := j.cluster.instances[c.Instance]
	return j.rewound || j.cluster.machine(h.name).strays[c.Instance] || (i != nil && (i.retired || i.removed || h.yields(c, i)))
}

// runsNow reports whether the container runs.
func (h *host) runsNow(c node.Container) bool {
	return slices.ContainsFunc(h.engine.Containers(), func(have node.Container) bool {
		return have.Handle == c.Handle && have.State == node.Running
	})
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
